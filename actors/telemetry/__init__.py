"""Counters, and observers of runs: traces and lineage."""
