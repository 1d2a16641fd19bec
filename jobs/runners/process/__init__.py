"""Processes of a run: groups, sandboxes, and the end of both."""
