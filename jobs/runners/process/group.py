"""Process group and its guard. They are started together and signalled as one, and the leader is reaped last. See
``process``.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from io import FileIO
from typing import IO, cast

from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.policy.resource_limits import Allowance
from sluice.jobs.runners.process.privileges import unprivileged

#: Seconds to wait for a killed process (a dead network disk may block it). After this it is left to the kernel.
REAP_S = 10.0

_SHELL = "/bin/sh"
#: Reads the number of the group, then waits for the end of the pipe.
_GUARD = 'read -r group && { read -r rest; kill -9 "-$group"; }'
#: Writes its number into the pipe and becomes the command, which does not inherit the pipe. Its stdin follows.
_JOIN = 'echo $$ >&0 && exec "$@" <'
_NO_CORES = "ulimit -c 0; "


class ProcessCommand(Struct, frozen=True, kw_only=True):
    """Command to start. ``inherit`` are descriptors of the caller that the process gets under the same numbers.
    ``stdin`` is also in ``inherit``, and is the standard input. Default: it is empty.

    With an ``allowance`` or with ``kept``, it runs under a supervisor process (``supervised``). Unless it is
    ``privileged``, it cannot get more rights than the worker has, nor leave a core dump. ``enclosed``: its first
    process and that process's child belong to a sandbox (``sandbox``). They do not count, and exit when all others
    have.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str | None = None
    inherit: tuple[int, ...] = ()
    stdin: int | None = None
    allowance: Allowance = Allowance()
    kept: bool = False
    privileged: bool = False
    enclosed: bool = False


class ExitStatus(Struct, frozen=True):
    """Exit status of a process. Both fields are None if other code in this process reaped it first."""

    code: int | None = None
    signal: int | None = None


class ProcessGroup:
    """Started command, its guard, and the pipes from it: stdout, stderr, and its event pipe if it has one."""

    def __init__(self, command: ProcessCommand, *, tells: bool) -> None:
        self._status: ExitStatus | None = None
        self._guard = _start_guard()
        started: list[subprocess.Popen[bytes]] = []
        try:
            with telling(command, tells=tells) as (told, argued):
                start = partial(_start_into, started, argued, cast(IO[bytes], self._guard.stdin))
                start() if command.privileged else unprivileged(start)
        except BaseException:
            self._abandon(started)
            raise
        [self._leader] = started
        self.pipes = (cast(IO[bytes], self._leader.stdout), cast(IO[bytes], self._leader.stderr), *told)

    def exited(self) -> bool:
        """Return whether the leader has exited. Its status is stored, and it stays unreaped."""
        if self._status is None:
            self._status = peek(self._leader)
        return self._status is not None

    def signal(self, number: int) -> None:
        """Send a signal to every member. It does not reach members of another user."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._leader.pid, number)

    def kill(self) -> ExitStatus:
        """Kill the rest of the group and return how its leader ended."""
        self.signal(signal.SIGKILL)
        until = time.monotonic() + REAP_S
        while not self.exited() and time.monotonic() < until:
            time.sleep(0.001)
        return self._status or ExitStatus()

    def exceeded(self) -> str | None:
        """Return None. A ``ProcessGroup`` checks no limits; commands with limits run in a ``KeptGroup``."""
        return None

    def close(self) -> None:
        self.kill()
        self._dismiss_guard()
        for pipe in self.pipes:
            pipe.close()
        if self._status is not None:
            self._leader.wait()

    def _abandon(self, started: list[subprocess.Popen[bytes]]) -> None:
        """Clean up after an interrupted start, when the command may already run. The guard kills the group, as if the
        worker had died. It also knows a process that is not yet in ``started``.
        """
        cast(IO[bytes], self._guard.stdin).close()
        self._guard.wait()
        for leader in started:
            leader.wait()
            cast(IO[bytes], leader.stdout).close()
            cast(IO[bytes], leader.stderr).close()

    def _dismiss_guard(self) -> None:
        """End the guard. It is killed before its pipe closes because it would take the end-of-file for the worker's
        death.
        """
        self._guard.kill()
        self._guard.wait()
        cast(IO[bytes], self._guard.stdin).close()


def _start_guard() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        (_SHELL, "-c", _GUARD, "sluice-guard"),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        cwd="/",
        env={},
        start_new_session=True,
    )


def _start_into(started: list[subprocess.Popen[bytes]], command: ProcessCommand, lifeline: IO[bytes]) -> None:
    """Start the command and append it to ``started``. If the waiting caller is interrupted, it finds the process
    there.
    """
    # Some shells copy only descriptors of one digit, so the file is opened again.
    join = _JOIN + ("/dev/null" if command.stdin is None else f"/dev/fd/{command.stdin}")
    started.append(
        subprocess.Popen(
            (_SHELL, "-c", join if command.privileged else _NO_CORES + join, "sluice", *command.argv),
            stdin=lifeline,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=command.cwd,
            env=command.env,
            pass_fds=command.inherit,
            start_new_session=True,
        )
    )


@contextmanager
def telling(
    command: ProcessCommand, *, tells: bool
) -> Iterator[tuple[tuple[IO[bytes], ...], ProcessCommand]]:
    """Yield the command and the pipes from which the caller reads its events.

    If it ``tells``, a pipe is added: the caller gets the read end, and the command gets the write end as its last
    argument. Our copy of the write end is closed, so that the exit of the process ends the pipe.
    """
    if not tells:
        yield (), command
        return
    read_end, write_end = os.pipe()
    told = FileIO(read_end)
    argv, inherit = (*command.argv, str(write_end)), (*command.inherit, write_end)
    try:
        yield (cast(IO[bytes], told),), replace(command, argv=argv, inherit=inherit)
    except BaseException:
        told.close()
        raise
    finally:
        os.close(write_end)


def peek(process: subprocess.Popen[bytes]) -> ExitStatus | None:
    """Return how the process exited, without reaping it. None while it runs."""
    if not hasattr(os, "waitid"):  # macOS before Python 3.13: the number is free slightly too early.
        code = process.poll()
        return None if code is None else ExitStatus(signal=-code) if code < 0 else ExitStatus(code=code)
    try:
        seen = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return ExitStatus()
    if seen is None:
        return None
    if seen.si_code == os.CLD_EXITED:
        return ExitStatus(code=seen.si_status)
    return ExitStatus(signal=seen.si_status)
