"""Pictures of a laid-out graph."""
