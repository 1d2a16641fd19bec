"""Jobs that are keyed by partitions of tables."""
