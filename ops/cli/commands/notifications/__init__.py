"""Commands ``sluice notifications``."""
