"""Spark drivers in cluster mode, and their status by the documented programs.

    yarn    submitted without waiting; its application ID is read from the output of ``spark-submit``, and polled and
            ended by ``yarn application -status`` and ``-kill``
    k8s     submitted without waiting; its driver's pod has a name that we set, and is polled and ended by
            ``spark-submit --status`` and ``--kill``

Standalone masters are not supported because Spark has no cluster mode for Python on them.
"""

import re
import subprocess
from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct

from sluice.jobs.managed import Stage, Status

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
