"""Definitions in Python: signatures, dependencies and typed options."""
