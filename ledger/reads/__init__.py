"""What people and programs ask the ledger. Nothing in this package writes, and nothing decides by what it reads."""
