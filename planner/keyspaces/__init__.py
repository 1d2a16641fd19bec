"""The three ways to key jobs: templates, chunks of work IDs, and partitions of tables."""
