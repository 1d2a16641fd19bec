"""Graph of jobs: which jobs exist, their dependencies, the submissions that request them, and which of them may run."""
