"""Relations between apps: types of identifiers, tables, dependencies, digests."""
