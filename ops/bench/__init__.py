"""Benchmarks of Sluice: ``sluice bench``.

A workload is one measurement, on definitions that it creates itself. Each run has a process of its own, so that no
run inherits memory, caches or garbage from another. Runs of different workloads alternate, so that a slower machine
slows down all of them. The report has every run, the median and the spread; no run is discarded.

There is no pass or fail: a figure is compared only with other figures of the same session.
"""
