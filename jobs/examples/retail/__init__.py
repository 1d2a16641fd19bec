"""Example project: takings of twelve shops, from files that arrive each night to features and reports."""
