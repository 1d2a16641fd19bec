"""Spark jobs by ``spark-submit``, so that they outlive the worker.

    class Features(SparkSubmit):
        pymodule = "acme.features"
        spark_conf = {"spark.master": "yarn", "spark.executor.memory": "4g"}
        write_fp = "s3://features/{date}"

The class takes the options of a ``pyspark`` app, read by the same code, and ``main`` gets the same arguments.

In client mode the driver is the command of a ``LocalProcess``. In cluster mode that command only submits. It also
outlives the worker, so a submission is neither lost nor duplicated. After the submission the cluster is polled.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from sluice.jobs.catalogue.draft import Entry
from sluice.jobs.catalogue.faults import At, Faults
from sluice.jobs.catalogue.functions import path_of
from sluice.jobs.catalogue.spark import SPARK_WORDS, read_spark
from sluice.jobs.job import Job
from sluice.jobs.managed import Stage, Status
from sluice.jobs.managers.cluster import Cluster, cluster_of
from sluice.jobs.managers.driver import script
from sluice.jobs.managers.process import LocalProcess
from sluice.jobs.managers.record import Leader, Record
from sluice.jobs.runners.braces import values_of
from sluice.jobs.runners.environment import function_environment, of_the_worker
from sluice.jobs.runners.spark import for_run
from sluice.jobs.runners.wire import Errand
from sluice.jobs.spark import Spark


class SparkSubmit(LocalProcess):
    """Base class of managers with the options of a ``pyspark`` app. ``command`` is none of these options."""

    #: Seconds between two polls: each poll of a cluster runs a program that takes seconds.
    poll_s: float = 5.0
    #: The programs, if they are not on the path or need options of their own.
    spark_submit: Sequence[str] = ("spark-submit",)
    yarn: Sequence[str] = ("yarn",)

    def argv(self, job: Job, folder: Path) -> Sequence[str]:
        spark, function_path = self._read(job)
        cluster = self._cluster(spark, f"sluice-{job.token}-{job.claim}")
        properties = {**spark.conf, **(cluster.properties if cluster else {})}
        errand = Errand(
            claimed=job.claimed,
            function_path=function_path,
            cwd=None,
            python_path=None,
            acknowledges=False,
            spark=replace(spark, conf={}),
        )
        driver = folder / "sluice_driver.py"
        driver.write_text(script(errand))
        _cluster_file(folder).write_bytes(msgspec.json.encode(cluster))
        told = (word for name, text in properties.items() for word in ("--conf", f"{name}={text}"))
        return [*self.spark_submit, *told, str(driver)]

    def environment(self, job: Job) -> Mapping[str, str]:
        """Return the environment of an isolated function, as with ``pyspark``. A driver on this machine also gets our
        Python and its path.
        """
        seen = function_environment(job.claimed, self._policy, os.environ)
        spark, _ = self._read(job)
        if spark.conf.get("spark.submit.deployMode", "client") != "client":
            return seen
        python = {"PYSPARK_DRIVER_PYTHON": sys.executable}
        if spark.conf["spark.master"].startswith("local"):
            python["PYSPARK_PYTHON"] = sys.executable
        path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)
        return {**python, **seen, "PYTHONPATH": path}

    def check(self, handle: Any) -> Status:
        """Check the submission, then the cluster. During the submission the work is running; a failed submission
        ends it.
        """
        submitted = super().check(handle)
        record = Record(Path(Leader.of(handle).folder))
        cluster = _found_cluster(record.folder)
        if cluster is None or submitted.stage is not Stage.SUCCEEDED:
            return submitted
        return cluster.status(_printed(record), self._surroundings)

    def cancel(self, handle: Any) -> None:
        """Cancel the submission first, so that it starts nothing later, then the work on the cluster."""
        super().cancel(handle)
        record = Record(Path(Leader.of(handle).folder))
        cluster = _found_cluster(record.folder)
        if cluster is not None:
            cluster.end(_printed(record), self._surroundings)

    @property
    def _surroundings(self) -> dict[str, str]:
        return of_the_worker(os.environ) | dict(self.env)

    def _read(self, job: Job) -> tuple[Spark, str]:
        """Return the options of the class, read like an app's. DefinitionError lists all faults in them."""
        words = {word: getattr(self, word) for word in SPARK_WORDS if hasattr(self, word)}
        faults, origin = Faults(), path_of(type(self))
        entry = Entry(origin=origin, name=job.app, words=words)
        work = read_spark(words, entry, list(values_of(job.claimed)), At(faults, origin, job.app))
        faults.raise_any()
        if work.spark is None or work.function_path is None:
            raise ValueError(f"{origin} has no pymodule")
        return for_run(work.spark, job.claimed, self.env), work.function_path

    def _cluster(self, spark: Spark, name: str) -> Cluster | None:
        return cluster_of(spark.conf, name, spark_submit=tuple(self.spark_submit), yarn=tuple(self.yarn))


def _cluster_file(folder: Path) -> Path:
    return folder / "cluster.json"


def _found_cluster(folder: Path) -> Cluster | None:
    """Return the cluster with which the run was submitted, because the class may have changed since."""
    found: Cluster | None = msgspec.json.decode(_cluster_file(folder).read_bytes(), type=Cluster | None)
    return found


def _printed(record: Record) -> str:
    """Return the whole output of the submission. By default Spark logs to stderr."""
    return record.stderr.read_text("utf-8", "replace") + record.stdout.read_text("utf-8", "replace")
