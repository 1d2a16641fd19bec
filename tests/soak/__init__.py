"""A soak: jobs without an end and without a fault, to see what grows.

    python -m tests.soak --jobs 1000000

Pairs of jobs, a child for each parent, are submitted as fast as they are done, by batches, with so many open at the
most. Meanwhile it is written down how much memory each process has, how large the tables are and how much of them is
dead, how long jobs wait for a worker, and how many end in a second. At the end the tenths of the run stand below each
other: what is bounded stays as it was, and a process that grows fails the run. Histories are kept for so short a time
that they are removed while it runs.
"""
