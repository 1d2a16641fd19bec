"""Content of notifications, and their delivery to receivers outside of Sluice."""
