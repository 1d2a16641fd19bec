"""Soak: endless jobs without faults, to find growth over time.

    python -m tests.soak --jobs 1000000

Pairs of jobs, a child for each parent, are submitted in batches as fast as they are done, with a limit on open jobs.
Meanwhile readings are taken: the memory of each process, the sizes of the tables with their share of dead rows, how
long jobs wait for a worker, and how many end per second. At the end the tenths of the run are printed below each other.
Bounded values stay the same, and a process that grows fails the run. Histories are kept for so short a time that they
are removed during the run.
"""
