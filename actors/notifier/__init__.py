"""The notifier: delivers the events of jobs to their receivers."""
