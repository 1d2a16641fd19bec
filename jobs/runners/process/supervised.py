"""Command that its processes cannot leave, with limits on their resources. It is like ``group``, at a higher price.

A supervisor process (``subreaper``), a small Python process (20 ms to start, 10 MB), runs between the worker and the
command. It sets the limits in the child that becomes the command, which has one thread. It is also the guard: its stdin
is a pipe, and only the worker holds the other end. See ``subreaper`` for its guarantees, and for its limits on systems
other than Linux.

Limitation: a command can kill its supervisor process, as any process of the same user may. Then its processes are no
longer kept together.
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

from sluice.jobs.policy.resource_limits import Allowance
from sluice.jobs.runners.process.group import REAP_S, ExitStatus, ProcessCommand, peek, telling

_KEEPER = str(Path(__file__).with_name("subreaper.py"))
#: Variables that the interpreter itself may need to start.
_FOR_PYTHON = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
#: Seconds between the signal of the CPU limit (SIGXCPU) and SIGKILL.
_CPU_GRACE_S = 1
_REPORT_BYTES = 64


class KeptGroup:
    """``Group`` for a command that must be kept together. It exits once all processes of the command have ended."""

    def __init__(self, command: ProcessCommand, *, tells: bool) -> None:
        self._status: ExitStatus | None = None
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
        """Return whether the command and all its descendants have exited. The supervisor process stays unreaped."""
        if self._status is None:
            self._status = peek(self._keeper)
        return self._status is not None

    def signal(self, number: int) -> None:
        """Signal the supervisor process. It passes SIGTERM on to every member; SIGCONT and SIGKILL affect only
        itself.
        """
        with suppress(ProcessLookupError):
            os.kill(self._keeper.pid, number)

    def kill(self) -> ExitStatus:
        """End the remaining processes and return how the command ended."""
        self._lifeline.close()
        if not self.exited():
            self.signal(signal.SIGCONT)  # The command may have stopped its supervisor process.
        until = time.monotonic() + REAP_S
        while not self.exited() and time.monotonic() < until:
            time.sleep(0.001)
        if not self.exited():
            self.signal(signal.SIGKILL)
        return self._status or ExitStatus()

    def exceeded(self) -> str | None:
        """Return the limit for which the supervisor process ended the command, or None. Call this after it has
        exited.
        """
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


def _start(command: ProcessCommand, said: int) -> subprocess.Popen[bytes]:
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
        "stdin": command.stdin,
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
    """Write the whole content. One call writes only as much as an unbuffered pipe has room for."""
    left = memoryview(content)
    while left:
        left = left[pipe.write(left) :]


def _settings(allowance: Allowance, *, cores: bool) -> list[tuple[int, int, int]]:
    """Return the resource limits to set, each with its soft and hard value. The address space comes last because it
    also limits the process that sets the others.
    """
    asked = (
        (resource.RLIMIT_CORE, None if cores else 0),
        (resource.RLIMIT_CPU, None if allowance.cpu_s is None else int(allowance.cpu_s)),
        (resource.RLIMIT_FSIZE, allowance.file_size_bytes),
        (resource.RLIMIT_NOFILE, allowance.open_files),
        (resource.RLIMIT_AS, allowance.memory_bytes),
    )
    return [(number, *_within(number, most)) for number, most in asked if most is not None]


def _within(number: int, most: int) -> tuple[int, int]:
    """Return the soft and hard limit, capped by the worker's own hard limit, which only root could raise."""
    own = resource.getrlimit(number)[1]
    grace = _CPU_GRACE_S if number == resource.RLIMIT_CPU else 0
    if own == resource.RLIM_INFINITY:
        return most, most + grace
    return min(most, own), min(most + grace, own)
