"""Ready-made job managers, and conformance tests for any job manager.

    local_process    ``LocalProcess``: a command that outlives the worker, the folder of its run, its identification
    spark            ``SparkSubmit``: the options of a ``pyspark`` app, passed to ``spark-submit``; drivers on a cluster
    spark_driver     the program that runs in Spark's driver
    conformance      ``Conformance``: the tests that a manager must pass; users run them on their own managers
    isolated_calls   calls to a manager in another process, for these tests

Invariants: they are job managers like any other (``jobs.model.external_work``), no runner knows of them, and none needs
a ledger. Work is marked with its job's token before it does anything, so the death of a worker never duplicates it.
"""

from sluice.jobs.managers.local_process import LocalProcess
from sluice.jobs.managers.spark import SparkSubmit

__all__ = ["LocalProcess", "SparkSubmit"]
