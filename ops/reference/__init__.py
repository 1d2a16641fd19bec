"""Pages of the reference that are made from the code: ``python -m ops.reference`` writes them, a test compares."""
