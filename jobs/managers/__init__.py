"""Job managers that are ready to use, and what holds any job manager to its promises.

    process.py       ``LocalProcess``: a command that outlives the worker
    record.py        the folder of one such run: who it is, what it printed, how it ended
    birth.py         which process a number means
    spark.py         ``SparkSubmit``: the words of a ``pyspark`` app, given to ``spark-submit``
    cluster.py       the same, where Spark's driver runs on the cluster itself
    driver.py        what runs in Spark's driver
    conformance.py   ``Conformance``: the tests that a manager has to pass; users run them on their own
    trial.py         one such test's dealings with a manager
    apart.py         a manager asked in another process, for those tests

What holds: they are job managers like any other (``jobs.managed``), no runner knows of them, and none needs a
ledger. What is started here is marked by its job's token before it does anything, so no death of a worker
doubles it.
"""

from sluice.jobs.managers.process import LocalProcess
from sluice.jobs.managers.spark import SparkSubmit

__all__ = ["LocalProcess", "SparkSubmit"]
