"""Calls to a job manager in a separate process, which is killed with its whole group after its answer.

So a test can check the work that a dead worker leaves behind, and the answers of a manager without earlier state.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any, Literal, cast

import msgspec
from msgspec import Struct

from sluice.jobs.catalogue.sources.functions import find_manager, path_of
from sluice.jobs.model.external_work import Status
from sluice.jobs.model.job import Job, RunContext
from sluice.jobs.runners.function.call import account, settled
from sluice.jobs.runners.output import job_log

#: Maximum seconds until a killed group must be gone.
GONE_S = 2.0


class Question(Struct, frozen=True, kw_only=True):
    """Call of a manager's method. ``claimed`` is for ``run``, ``handle`` for the other methods."""

    manager: str
    verb: Literal["run", "check", "cancel"]
    claimed: RunContext | None = None
    handle: Any = None


class CallResult(Struct, frozen=True, kw_only=True):
    """Result of a call. ``error`` is the exception; a ``Status`` is passed in its own field."""

    value: Any = None
    status: Status | None = None
    error: str | None = None


def ask_apart(
    manager: type,
    verb: Literal["run", "check"],
    *,
    claimed: RunContext | None = None,
    handle: Any = None,
    within_s: float,
) -> Any:
    """Return the manager's answer from a separate process. RuntimeError if it raises or does not answer in time."""
    path = path_of(manager)
    if not _is_found(manager, path):
        raise ValueError(f"other processes cannot import {path}; put the class at the top of its module")
    question = Question(manager=path, verb=verb, claimed=claimed, handle=handle)
    told = _asked(msgspec.json.encode(question), within_s)
    if not told:
        raise RuntimeError(f"{path}.{verb} did not return within {within_s:g} s in its own process")
    answer = msgspec.json.decode(told, type=CallResult)
    if answer.error is not None:
        raise RuntimeError(f"{path}.{verb} failed in its own process: {answer.error}")
    return answer.value if answer.status is None else answer.status


def _is_found(manager: type, path: str) -> bool:
    try:
        return find_manager(path) is manager
    except ValueError:
        return False


def _asked(question: bytes, within_s: float) -> bytes:
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb") as told:
        try:
            child = subprocess.Popen(
                (sys.executable, "-P", "-m", "sluice.jobs.managers.isolated_calls", str(write_end)),
                stdin=subprocess.PIPE,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path),
                },
                pass_fds=(write_end,),
                start_new_session=True,
            )
        finally:
            os.close(write_end)
        watch = threading.Timer(within_s, _kill, (child,))
        watch.start()
        try:
            with child:
                stdin = cast(IO[bytes], child.stdin)
                stdin.write(question + b"\n")
                stdin.flush()
                answer = told.readline()
                _kill(child)
        finally:
            watch.cancel()
    _until_gone(child.pid)
    return answer


def _kill(child: subprocess.Popen[bytes]) -> None:
    """Kill the group. The child leads it and is not reaped yet, so the number still belongs to it."""
    os.killpg(child.pid, signal.SIGKILL)


def _until_gone(group: int) -> None:
    """Wait until the killed group has ended. Otherwise it could be mistaken for surviving work.

    A process that its new parent never reaps is waited for only up to the limit.
    """
    until = time.monotonic() + GONE_S
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except (ProcessLookupError, PermissionError):
            return
        time.sleep(0.001)


def main() -> None:
    """Answer one question, and wait to be killed."""
    question = msgspec.json.decode(sys.stdin.buffer.readline(), type=Question)
    with os.fdopen(int(sys.argv[1]), "wb") as told:
        os.set_inheritable(told.fileno(), False)  # noqa: FBT003  # The started work must not inherit it.
        told.write(msgspec.json.encode(_answer(question)) + b"\n")
    sys.stdin.buffer.read()


def _answer(question: Question) -> CallResult:
    try:
        manager = find_manager(question.manager)()
        of = job_of(question.claimed) if question.claimed is not None else question.handle
        value = settled(getattr(manager, question.verb)(of))
    except BaseException as error:
        # User code may raise anything, and the exception is the answer.
        return CallResult(error=account(error))
    return CallResult(status=value) if isinstance(value, Status) else CallResult(value=value)


def job_of(claimed: RunContext) -> Job:
    """Return the job as its manager gets it, without a worker."""
    log = job_log(claimed.name, write=sys.stderr.write, tell=lambda *_: None)
    return Job(claimed, report=lambda *_: None, log=log, cancelled=lambda: False)


if __name__ == "__main__":
    main()
