"""Ready-made job managers, and conformance tests for any job manager.

    process.py       ``LocalProcess``: a command that outlives the worker
    record.py        the folder of one such run: its process, its output and its end
    birth.py         identification of a process by its number and birth
    spark.py         ``SparkSubmit``: the options of a ``pyspark`` app, passed to ``spark-submit``
    cluster.py       status and end of Spark's driver if it runs on the cluster itself
    driver.py        the program that runs in Spark's driver
    conformance.py   ``Conformance``: the tests that a manager must pass; users run them on their own managers
    trial.py         calls to a manager in one such test
    apart.py         calls to a manager in another process, for these tests

Invariants: they are job managers like any other (``jobs.managed``), no runner knows of them, and none needs a ledger.
Work is marked with its job's token before it does anything, so the death of a worker never duplicates it.
"""

from sluice.jobs.managers.process import LocalProcess
from sluice.jobs.managers.spark import SparkSubmit

__all__ = ["LocalProcess", "SparkSubmit"]
