"""Comparison under failures: the same jobs and the same faults for Sluice, dramatiq and Celery.

A publisher publishes jobs at a steady pace, and notes which ones were accepted. Workers die and are replaced,
connections are cut, and the broker is killed and restarted. The faults and their times are the same for all. Then
everything heals, and the workers may finish the remaining jobs. An accepted job that was never done is lost. A job that
was completed twice is doubled.

    python -m tests.ordeal --jobs 2000 --seconds 40 --seed 1

It is a comparison and not a test, because it needs Celery, which is in the ``bench`` extra. Each contender is a module
that its own worker command loads, and that publishes when it is run.
"""
