"""Schedules: their times, and the submissions that they make."""
