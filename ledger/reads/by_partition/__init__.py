"""Reads about partitions and the age of results."""
