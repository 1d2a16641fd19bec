"""A command whose processes cannot get away, with limits on what they use: as ``group``, at a higher price.

A *keeper*, a small Python of its own (20 ms to start, 10 MB), stands between the worker and the command. It sets the
limits in the child that becomes the command, which has one thread, and it is the guard too: its stdin is a pipe whose
other end only the worker holds. What it holds and how, and what it cannot on other systems than Linux, is told there.

What neither can do: keep a run together whose command kills its keeper, which any process of the same user may.
"""

import marshal
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

from sluice.jobs.allowance import Allowance
from sluice.jobs.runners.group import REAP_S, Command, Status, peek, telling

_KEEPER = str(Path(__file__).with_name("keeper.py"))
#: What the interpreter itself may need to start.
_FOR_PYTHON = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
#: Between the signal of the cpu limit, which names itself, and the end without a word.
_CPU_GRACE_S = 1
_REPORT_BYTES = 64


class KeptGroup:
    """What ``Group`` is, for a command that is to be kept together. It exits once all of it has ended."""

    def __init__(self, command: Command, *, tells: bool) -> None:
        self._status: Status | None = None
        report, said = os.pipe()
        self._report = report
        try:
            with telling(command, tells=tells) as (told, argued):
                self._keeper = _start(argued, said)
        except BaseException:
            os.close(report)
            raise
        finally:
            os.close(said)
        self.pipes = (cast(IO[bytes], self._keeper.stdout), cast(IO[bytes], self._keeper.stderr), *told)

    def exited(self) -> bool:
        """Whether the command has, and all that came of it; the keeper stays unreaped."""
        if self._status is None:
            self._status = peek(self._keeper)
        return self._status is not None

    def signal(self, number: int) -> None:
        """Send SIGTERM to every member; SIGCONT and SIGKILL are for the keeper alone."""
        with suppress(ProcessLookupError):
            os.kill(self._keeper.pid, number)

    def kill(self) -> Status:
        """End what is left of it, and say how the command ended."""
        self._lifeline.close()
        if not self.exited():
            self.signal(signal.SIGCONT)  # The command may have stopped its keeper.
        until = time.monotonic() + REAP_S
        while not self.exited() and time.monotonic() < until:
            time.sleep(0.001)
        if not self.exited():
            self.signal(signal.SIGKILL)
        return self._status or Status()

    def exceeded(self) -> str | None:
        """The limit for which the keeper has ended it by itself; to be asked when it has exited."""
        os.set_blocking(self._report, False)
        try:
            return os.read(self._report, _REPORT_BYTES).decode() or None
        except BlockingIOError:
            return None

    def close(self) -> None:
        self.kill()
        for pipe in self.pipes:
            pipe.close()
        os.close(self._report)
        if self._status is not None:
            self._keeper.wait()

    @property
    def _lifeline(self) -> IO[bytes]:
        return cast(IO[bytes], self._keeper.stdin)


def _start(command: Command, said: int) -> subprocess.Popen[bytes]:
    keeper = subprocess.Popen(
        (sys.executable, "-I", "-S", _KEEPER, str(said)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd=command.cwd,
        env={name: os.environ[name] for name in _FOR_PYTHON if name in os.environ},
        pass_fds=(*command.inherit, said),
        start_new_session=True,
    )
    errand = {
        "argv": list(command.argv),
        "env": dict(command.env),
        "inherit": list(command.inherit),
        "limits": _settings(command.allowance, cores=command.privileged),
        "processes": command.allowance.processes,
        "cpu_s": command.allowance.cpu_s,
        "privileged": command.privileged,
        "enclosed": command.enclosed,
    }
    try:
        _write(cast(IO[bytes], keeper.stdin), marshal.dumps(errand))
    except BaseException:
        keeper.kill()
        keeper.communicate()
        raise
    return keeper


def _write(pipe: IO[bytes], content: bytes) -> None:
    """All of it: an unbuffered pipe takes as much as it has room for."""
    left = memoryview(content)
    while left:
        left = left[pipe.write(left) :]


def _settings(allowance: Allowance, *, cores: bool) -> list[tuple[int, int, int]]:
    """What to set, each with its soft and its hard limit; the address space last, for it binds whoever sets it."""
    asked = (
        (resource.RLIMIT_CORE, None if cores else 0),
        (resource.RLIMIT_CPU, None if allowance.cpu_s is None else int(allowance.cpu_s)),
        (resource.RLIMIT_FSIZE, allowance.file_size_bytes),
        (resource.RLIMIT_NOFILE, allowance.open_files),
        (resource.RLIMIT_AS, allowance.memory_bytes),
    )
    return [(number, *_within(number, most)) for number, most in asked if most is not None]


def _within(number: int, most: int) -> tuple[int, int]:
    """No more than what the worker itself may have, which nobody but root could raise."""
    own = resource.getrlimit(number)[1]
    grace = _CPU_GRACE_S if number == resource.RLIMIT_CPU else 0
    if own == resource.RLIM_INFINITY:
        return most, most + grace
    return min(most, own), min(most + grace, own)
