"""The groomer: one bounded step after the other on each tick."""
