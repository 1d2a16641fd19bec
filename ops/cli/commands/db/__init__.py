"""Commands about the ledger's database."""
