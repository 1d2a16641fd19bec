"""Walks from the requested jobs to their missing parents."""
