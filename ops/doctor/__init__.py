"""What ``sluice doctor`` finds.

A probe looks (``examination``), within a bounded time; judging what it has seen is a function without a clock or a
connection, one module for each thing that is judged. A finding is one line: what, where, and what to do.
"""
