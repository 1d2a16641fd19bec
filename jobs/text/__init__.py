"""Texts: parsing and formatting of values, filters, units and addresses."""
