"""What things cost, measured: ``sluice bench``.

A workload is one thing that is measured, on definitions that it makes itself. Each run of one has a process of its
own, so that none inherits the memory, the caches or the garbage of another, and runs of different workloads take
turns, so that a machine that slows down slows all of them. What is told is every run, their median and
their spread; nothing is thrown away.

It knows nothing of pass or fail: a number here is compared with another number of the same sitting.
"""
