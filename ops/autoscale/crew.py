"""The worker processes of one set of queues: started, told to go, looked after until they are gone."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from sluice.ops.autoscale.guard import Guard


class Gone(Struct, frozen=True):
    """One that has ended. ``asked``: it was told to."""

    pid: int
    code: int
    lived_s: float
    asked: bool


class _Member(Struct):
    process: subprocess.Popen[bytes]
    since_s: float
    leaving: bool = False


class Crew:
    """Each member is in a session of its own, so that a Ctrl-C here is told to it by nobody but us. Where we die
    without a word the guard tells them to go."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], guard: Guard) -> None:
        self._guard = guard
        self._command = list(command)
        self._environment = dict(environment)
        self._members: list[_Member] = []

    @property
    def working(self) -> int:
        return sum(1 for member in self._members if not member.leaving)

    @property
    def leaving(self) -> int:
        return len(self._members) - self.working

    def look(self) -> list[Gone]:
        """Those that have ended since the last look."""
        gone = []
        for member in [*self._members]:
            if not _has_ended(member.process.pid):
                continue
            # As long as nobody has waited for it, the number of its group is nobody else's.
            _signal_group(member.process.pid, signal.SIGTERM)
            self._members.remove(member)
            self._guard.forget(member.process.pid)
            lived_s = time.monotonic() - member.since_s
            gone.append(Gone(member.process.pid, member.process.wait(), lived_s, member.leaving))
        return gone

    def start(self, number: int) -> list[int]:
        """The process ids of so many more. OSError for one that cannot be started; those before it are there."""
        started = []
        for _ in range(number):
            process = subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._guard.has_come(process.pid)
            self._members.append(_Member(process, time.monotonic()))
            started.append(process.pid)
        return started

    def send_away(self, number: int, held: Mapping[int, int]) -> list[int]:
        """Tell so many to go: those that hold nothing first, then who holds the least; of equals the youngest. ``held``
        is how many jobs each process runs, by what the ledger says."""
        staying = [member for member in self._members if not member.leaving]
        staying.sort(key=lambda member: (_held(member.process.pid, held), -member.since_s))
        return [self._tell(member) for member in staying[:number]]

    def send_all_away(self) -> None:
        for member in self._members:
            if not member.leaving:
                self._tell(member)

    def kill(self) -> None:
        """Somebody has said so twice. What they ran is taken over by others once their leases have ended."""
        for member in self._members:
            _signal_group(member.process.pid, signal.SIGKILL)
        for member in self._members:
            member.process.wait()
            self._guard.forget(member.process.pid)
        self._members.clear()

    def _tell(self, member: _Member) -> int:
        """Once: the guard is to tell nobody a second time, and one that was not told at all would stay for good."""
        member.leaving = True
        # Its own ``terminate`` would wait for one that has ended, whom ``look`` would not find then.
        os.kill(member.process.pid, signal.SIGTERM)
        self._guard.forget(member.process.pid)
        return member.process.pid


def _has_ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _signal_group(pid: int, number: signal.Signals) -> None:
    """What the process has started and may have left behind is of its group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _held(pid: int, held: Mapping[int, int]) -> int:
    """A worker that was started is the parent of those that have a lease."""
    return sum(jobs for worker, jobs in held.items() if pid in (worker, _parent(worker)))


def _parent(pid: int) -> int | None:
    """None where the machine does not tell, or there is no such process."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("PPid:")), None)
