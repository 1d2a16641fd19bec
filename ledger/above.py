"""Above which numbers a ledger that was restored goes on (``restoring``): for statements that give numbers out."""

#: Null where it never was, which ``greatest`` passes over.
ABOVE = "(SELECT max(above) FROM restoration)"
