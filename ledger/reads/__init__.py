"""Read-only queries for people and programs. Nothing in this package writes, and nothing in it decides."""
