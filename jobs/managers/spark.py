"""Job manager for Spark jobs by ``spark-submit``, so that they outlive the worker.

    class Features(SparkSubmit):
        pymodule = "acme.features"
        spark_conf = {"spark.master": "yarn", "spark.executor.memory": "4g"}
        write_fp = "s3://features/{date}"

The class takes the options of a ``pyspark`` app, read by the same code, and ``main`` gets the same arguments.

In client mode the driver is the command of a ``LocalProcess``. In cluster mode that command only submits. It also
outlives the worker, so a submission is neither lost nor duplicated. After the submission the driver's status is polled
by the documented programs of the cluster:

    yarn    submitted without waiting; its application ID is read from the output of ``spark-submit``, and polled and
            ended by ``yarn application -status`` and ``-kill``
    k8s     submitted without waiting; its driver's pod has a name that we set, and is polled and ended by
            ``spark-submit --status`` and ``--kill``

Standalone masters are not supported because Spark has no cluster mode for Python on them.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.catalogue.errors import At, DefinitionFaults
from sluice.jobs.catalogue.fields.draft import UnreadApp
from sluice.jobs.catalogue.fields.work_options import SPARK_WORDS, read_spark
from sluice.jobs.catalogue.sources.functions import path_of
from sluice.jobs.managers.local_process import Leader, LocalProcess, RunRecord
from sluice.jobs.managers.spark_driver import script
from sluice.jobs.model.external_work import Stage, Status
from sluice.jobs.model.job import Job
from sluice.jobs.model.spark import Spark
from sluice.jobs.runners.command.environment import function_environment, of_the_worker
from sluice.jobs.runners.command.placeholders import values_of
from sluice.jobs.runners.function.child_protocol import Errand
from sluice.jobs.runners.function.spark_settings import for_run

#: Maximum seconds for an answer of a cluster's program. After this the call has failed.
ASK_S_MAX = 120.0
#: Maximum number of characters of a program's output in a message.
_QUOTED_CHARS = 1000

#: Application ID in the output of Spark's and of YARN's client, printed when the application is handed over and later.
_APPLICATION = re.compile(r"\bSubmitt(?:ing|ed) application (application_\d+_\d+)\b")
_FIELD = re.compile(r"^\s*(State|Final-State|Progress|Diagnostics)\s*:[ \t]*(.*?)\s*$", re.MULTILINE)
_PERCENT = re.compile(r"(\d+)(?:\.\d+)?%")
_UNENDED = {"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING"}
_PHASE = re.compile(r"^\s*phase:\s*(\w+)\s*$", re.MULTILINE)
_STAGES = {
    "Pending": Stage.RUNNING,
    "Running": Stage.RUNNING,
    "Unknown": Stage.RUNNING,  # Its node does not answer; Kubernetes decides on it later.
    "Succeeded": Stage.SUCCEEDED,
    "Failed": Stage.FAILED,
}
_ABSENT = "Application not found"


class Yarn(Struct, frozen=True, kw_only=True, tag="yarn"):
    """Driver on YARN. By its ``tag``, people find the application."""

    program: tuple[str, ...]
    tag: str

    @property
    def properties(self) -> dict[str, str]:
        return {"spark.yarn.submit.waitAppCompletion": "false", "spark.yarn.tags": self.tag}

    def status(self, printed: str, env: Mapping[str, str]) -> Status:
        """Return the status of the application that this submission started."""
        application = _application(printed)
        if application is None:
            return Status(
                Stage.FAILED.value,
                "spark-submit printed no application ID, so its status cannot be polled; set its log level to INFO."
                f" YARN has the application under the tag {self.tag}.",
            )
        told = dict(
            reversed(_FIELD.findall(_ask((*self.program, "application", "-status", application), env)))
        )
        state, final = told.get("State", ""), told.get("Final-State", "")
        if state in _UNENDED:
            percent = _PERCENT.fullmatch(told.get("Progress", ""))
            return Status(
                Stage.RUNNING.value, application, (int(percent[1]), 100) if percent is not None else None
            )
        if not state:
            raise ValueError(f"yarn printed no state of {application}")
        if (state, final) == ("FINISHED", "SUCCEEDED"):
            return Status(Stage.SUCCEEDED.value, application)
        why = f"{application} is {state}, and its final state {final}. {told.get('Diagnostics', '')}".strip()
        return Status(Stage.FAILED.value, why)

    def end(self, printed: str, env: Mapping[str, str]) -> None:
        """Kill the application if it is running. If YARN never accepted it, it has no ID."""
        application = _application(printed)
        if application is not None and self.status(printed, env).stage is Stage.RUNNING:
            _ask((*self.program, "application", "-kill", application), env)


class Kubernetes(Struct, frozen=True, kw_only=True, tag="k8s"):
    """Driver on Kubernetes. ``pod`` is the driver's pod."""

    program: tuple[str, ...]
    master: str
    namespace: str
    pod: str

    @property
    def properties(self) -> dict[str, str]:
        return {
            "spark.kubernetes.submission.waitAppCompletion": "false",
            "spark.kubernetes.driver.pod.name": self.pod,
        }

    def status(self, _: str, env: Mapping[str, str]) -> Status:
        told = self._submit("--status", env)
        if _ABSENT in told:
            return Status(Stage.FAILED.value, f"there is no pod {self.pod} in {self.namespace} any more")
        phase = _PHASE.search(told)
        if phase is None or phase[1] not in _STAGES:
            raise ValueError(f"spark-submit printed no status of {self.pod}: {told[-_QUOTED_CHARS:]}")
        stage = _STAGES[phase[1]]
        return Status(stage.value, told[phase.start() :].strip() if stage is Stage.FAILED else self.pod)

    def end(self, printed: str, env: Mapping[str, str]) -> None:
        """Kill the driver if it is running. After its end its pod remains because it shows the outcome."""
        if self.status(printed, env).stage is Stage.RUNNING:
            self._submit("--kill", env)

    def _submit(self, verb: str, env: Mapping[str, str]) -> str:
        return _ask((*self.program, "--master", self.master, verb, f"{self.namespace}:{self.pod}"), env)


Cluster: TypeAlias = Yarn | Kubernetes


def cluster_of(
    conf: Mapping[str, str], name: str, *, spark_submit: tuple[str, ...], yarn: tuple[str, ...]
) -> Cluster | None:
    """Return the cluster for the driver. None in client mode, in which the driver runs on this machine."""
    master = conf.get("spark.master", "")
    if conf.get("spark.submit.deployMode", "client") == "client":
        return None
    if master == "yarn":
        return Yarn(program=yarn, tag=",".join(filter(None, [conf.get("spark.yarn.tags"), name])))
    if master.startswith("k8s://"):
        namespace = conf.get("spark.kubernetes.namespace", "default")
        return Kubernetes(program=spark_submit, master=master, namespace=namespace, pod=name)
    raise ValueError(f"on {master or 'no master'} Spark has no cluster mode for Python; use yarn or k8s://")


def _application(printed: str) -> str | None:
    """Return the last submitted application. A user's wrapper around ``spark-submit`` may submit several times."""
    found = _APPLICATION.findall(printed)
    return found[-1] if found else None


def _ask(argv: tuple[str, ...], env: Mapping[str, str]) -> str:
    """Return the output of the program. RuntimeError if it failed, which a runner tolerates a few times."""
    asked = subprocess.run(
        argv, env=env, capture_output=True, text=True, errors="replace", timeout=ASK_S_MAX, check=False
    )
    if asked.returncode:
        told = (asked.stderr.strip() or asked.stdout.strip())[-_QUOTED_CHARS:]
        raise RuntimeError(f"{' '.join(argv)} exited with {asked.returncode}: {told}")
    return f"{asked.stdout}\n{asked.stderr}"


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
        record = RunRecord(Path(Leader.of(handle).folder))
        cluster = _found_cluster(record.folder)
        if cluster is None or submitted.stage is not Stage.SUCCEEDED:
            return submitted
        return cluster.status(_printed(record), self._surroundings)

    def cancel(self, handle: Any) -> None:
        """Cancel the submission first, so that it starts nothing later, then the work on the cluster."""
        super().cancel(handle)
        record = RunRecord(Path(Leader.of(handle).folder))
        cluster = _found_cluster(record.folder)
        if cluster is not None:
            cluster.end(_printed(record), self._surroundings)

    @property
    def _surroundings(self) -> dict[str, str]:
        return of_the_worker(os.environ) | dict(self.env)

    def _read(self, job: Job) -> tuple[Spark, str]:
        """Return the options of the class, read like an app's. DefinitionError lists all faults in them."""
        words = {word: getattr(self, word) for word in SPARK_WORDS if hasattr(self, word)}
        faults, origin = DefinitionFaults(), path_of(type(self))
        entry = UnreadApp(origin=origin, name=job.app, words=words)
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


def _printed(record: RunRecord) -> str:
    """Return the whole output of the submission. By default Spark logs to stderr."""
    return record.stderr.read_text("utf-8", "replace") + record.stdout.read_text("utf-8", "replace")
