"""Commands under ``LocalProcess`` that tests start, also from processes of their own."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from msgspec.structs import replace

from sluice.jobs.job import Claimed
from sluice.jobs.managed import Stage, Status
from sluice.jobs.managers import LocalProcess
from sluice.jobs.managers.apart import job_of
from sluice.jobs.managers.conformance import sample
from sluice.jobs.managers.record import Record
from tests.jobs.runners.runner_bench import eventually

#: Under which runs are kept is told by the environment, which other processes share.
FOLDER = "TEST_PROCESSES"


class Command(LocalProcess):
    """Does what the job's ``do`` says."""

    command = ("sh", "-c", "{do}")
    env_from_os = (FOLDER,)
    grace_s = 0.5
    poll_s = 0.01

    def __init__(self) -> None:
        self.folder = os.environ[FOLDER]


class DiesAtOnce(Command):
    """Its worker is killed when the leader's process is there and has not done anything yet."""

    def _start(self, *arguments: Any) -> Any:
        super()._start(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)


def doing(do: str, **words: Any) -> Claimed:
    return sample("1", ids={"do": do}, **words)


BRIEF = "echo done"
ENDLESS = "exec sleep 1000"
FAILING = "echo 'no such host' >&2; exit 3"


def run(claimed: Claimed, manager: Callable[[], LocalProcess] = Command) -> Any:
    return manager().run(job_of(claimed))


def check(handle: Any, manager: Callable[[], LocalProcess] = Command) -> Status:
    return manager().check(handle)


def cancel(handle: Any, manager: Callable[[], LocalProcess] = Command) -> None:
    manager().cancel(handle)


def folder_of(handle: Any) -> Path:
    return Path(handle["folder"])


def leaders_under(folder: Path) -> list[psutil.Process]:
    """The leaders of runs that are kept there: they are told so by their words. Until it has become the command, a
    child of one has these words too, but leads no session."""
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


def next_claim(claimed: Claimed) -> Claimed:
    """As after a lost lease, which counts a round."""
    return replace(claimed, claim=claimed.claim + 1, round=claimed.round + 1)


def until_it_ended(handle: Any) -> None:
    """Without asking how it stands, which would leave a mark."""
    eventually(lambda: Record(folder_of(handle)).exit_code is not None)


def until_it_stands(handle: Any, stage: Stage) -> None:
    eventually(lambda: check(handle).stage is stage)
