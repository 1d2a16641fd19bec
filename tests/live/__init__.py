"""Real worker processes on real servers, killed at random."""
