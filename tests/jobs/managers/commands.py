"""Commands under ``LocalProcess`` that tests start, also from other processes."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from msgspec.structs import replace

from sluice.jobs.managers import LocalProcess
from sluice.jobs.managers.conformance import sample
from sluice.jobs.managers.isolated_calls import job_of
from sluice.jobs.managers.local_process import RunRecord
from sluice.jobs.model.external_work import Stage, Status
from sluice.jobs.model.job import RunContext
from tests.jobs.runners.runner_bench import eventually

#: Environment variable with the folder of the runs. Other processes inherit it.
FOLDER = "TEST_PROCESSES"


class Command(LocalProcess):
    """Local process that runs the shell command in the job's ``do``."""

    command = ("sh", "-c", "{do}")
    env_from_os = (FOLDER,)
    grace_s = 0.5
    poll_s = 0.01

    def __init__(self) -> None:
        self.folder = os.environ[FOLDER]


class DiesAtOnce(Command):
    """Command that kills its worker when the leader process has started and has not done anything yet."""

    def _start(self, *arguments: Any) -> Any:
        super()._start(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)


def doing(do: str, **words: Any) -> RunContext:
    return sample("1", ids={"do": do}, **words)


BRIEF = "echo done"
ENDLESS = "exec sleep 1000"
FAILING = "echo 'no such host' >&2; exit 3"


def run(claimed: RunContext, manager: Callable[[], LocalProcess] = Command) -> Any:
    return manager().run(job_of(claimed))


def check(handle: Any, manager: Callable[[], LocalProcess] = Command) -> Status:
    return manager().check(handle)


def cancel(handle: Any, manager: Callable[[], LocalProcess] = Command) -> None:
    manager().cancel(handle)


def folder_of(handle: Any) -> Path:
    return Path(handle["folder"])


def leaders_under(folder: Path) -> list[psutil.Process]:
    """Return the leaders of the runs in this folder, which is in their command line. A leader's child has the same
    command line until it executes the command, but it leads no session.
    """
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(word.startswith(f"{folder}/") for word in process.info["cmdline"] or ())
        and _leads_a_session(process.pid)
    ]


def _leads_a_session(pid: int) -> bool:
    try:
        return os.getsid(pid) == pid
    except ProcessLookupError:
        return False


def next_claim(claimed: RunContext) -> RunContext:
    """Return the next claim after a lost lease, which also begins a new round."""
    return replace(claimed, claim=claimed.claim + 1, round=claimed.round + 1)


def until_it_ended(handle: Any) -> None:
    """Wait for the end of the command without a status check, because a check would mark the run as checked."""
    eventually(lambda: RunRecord(folder_of(handle)).exit_code is not None)


def until_it_stands(handle: Any, stage: Stage) -> None:
    eventually(lambda: check(handle).stage is stage)
