"""Keys of jobs: identifiers, templates, work IDs and partitions."""
