"""Jobs that are keyed by chunks of work IDs."""
