"""Work IDs, partitions and stored definitions: what the ledger knows about keys beyond single jobs."""
