"""Tests with real worker processes on real servers, which are killed at random."""
