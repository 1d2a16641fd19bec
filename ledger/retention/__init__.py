"""Removal of old jobs and of the blobs that belonged to them."""
