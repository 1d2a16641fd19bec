"""The number above which a restored ledger continues (``restoring``), for statements that give numbers out."""

#: Null if the ledger was never restored. ``greatest`` ignores a null.
ABOVE = "(SELECT max(above) FROM restoration)"
