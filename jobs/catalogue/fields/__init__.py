"""Options of a definition: their names and accepted values."""
