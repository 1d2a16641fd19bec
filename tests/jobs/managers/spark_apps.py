"""Function that tests submit to Spark, and the managers that submit it."""

import os
import signal
from typing import Any, ClassVar

from sluice.jobs.managers import SparkSubmit
from sluice.jobs.model.job import Job
from tests.jobs.managers.commands import FOLDER


def main(sc: Any, job: Job, do: str) -> None:
    """Run the action that the job's ``do`` names."""
    if sc != "the context":
        raise ValueError(sc)
    job.progress(1, 2)
    if do == "endless":
        signal.pause()
    if do == "failing":
        raise ValueError("no such column")
    job.log.info("counted %s", do)


class Client(SparkSubmit):
    pymodule = "tests.jobs.managers.spark_apps"
    spark_conf: ClassVar[dict[str, str]] = {"spark.executor.memory": "4g"}
    uris = ("s3://code/acme.zip", "s3://code/driver.jar")
    grace_s = 0.5
    poll_s = 0.02

    def __init__(self) -> None:
        self.folder = os.environ[FOLDER]


class OnYarn(Client):
    spark_conf: ClassVar[dict[str, str]] = {
        "spark.master": "yarn",
        "spark.submit.deployMode": "cluster",
        "spark.yarn.tags": "mine",
    }


class OnKubernetes(Client):
    spark_conf: ClassVar[dict[str, str]] = {
        "spark.master": "k8s://https://api:6443",
        "spark.submit.deployMode": "cluster",
        "spark.kubernetes.namespace": "etl",
    }
