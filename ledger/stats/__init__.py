"""Counts and durations derived from the history, event counters, and the log of requested acts."""
