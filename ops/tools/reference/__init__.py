"""Pages of the reference that are made from the code. ``python -m sluice.ops.tools.reference`` writes them. A test
compares them with the files.
"""
