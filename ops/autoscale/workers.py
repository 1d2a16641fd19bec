"""Worker processes of one set of queues, from their start to their exit."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from sluice.ops.autoscale.orphan_guard import Guard


class ExitedWorker(Struct, frozen=True):
    """Worker that has exited. ``asked``: it was asked to stop."""

    pid: int
    code: int
    lived_s: float
    asked: bool


class _Member(Struct):
    process: subprocess.Popen[bytes]
    since_s: float
    leaving: bool = False


class LocalWorkers:
    """Workers of one set of queues. Each worker has a session of its own, so a Ctrl-C in this terminal does not reach
    it and only the autoscaler stops it. If the autoscaler dies without stopping its workers, the guard stops them.
    """

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

    def look(self) -> list[ExitedWorker]:
        """Return the workers that have exited since the last call."""
        gone = []
        for member in [*self._members]:
            if not _has_ended(member.process.pid):
                continue
            # The process is not reaped yet, so its group ID cannot belong to another process group.
            _signal_group(member.process.pid, signal.SIGTERM)
            self._members.remove(member)
            self._guard.forget(member.process.pid)
            lived_s = time.monotonic() - member.since_s
            gone.append(ExitedWorker(member.process.pid, member.process.wait(), lived_s, member.leaving))
        return gone

    def start(self, number: int) -> list[int]:
        """Start more workers and return their process IDs. OSError if one cannot be started. Workers that were started
        before the error stay.
        """
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
        """Ask some workers to stop and return their process IDs. Workers without jobs come first, then those with the
        fewest jobs. Of equal workers, the youngest comes first. ``held`` is the number of jobs by process ID, according
        to the ledger.
        """
        staying = [member for member in self._members if not member.leaving]
        staying.sort(key=lambda member: (_held(member.process.pid, held), -member.since_s))
        return [self._tell(member) for member in staying[:number]]

    def send_all_away(self) -> None:
        for member in self._members:
            if not member.leaving:
                self._tell(member)

    def kill(self) -> None:
        """Kill all workers, after the user has asked twice. Other workers take over their jobs when the leases have
        ended.
        """
        for member in self._members:
            _signal_group(member.process.pid, signal.SIGKILL)
        for member in self._members:
            member.process.wait()
            self._guard.forget(member.process.pid)
        self._members.clear()

    def _tell(self, member: _Member) -> int:
        """Send SIGTERM to a worker once. The guard then forgets the worker, so that it sends no second SIGTERM. The
        signal comes first, because a worker that is forgotten without a signal would never stop.
        """
        member.leaving = True
        # ``Popen.terminate`` would reap a process that has exited, and ``look`` could not find it any more.
        os.kill(member.process.pid, signal.SIGTERM)
        self._guard.forget(member.process.pid)
        return member.process.pid


def _has_ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _signal_group(pid: int, number: signal.Signals) -> None:
    """Signal the process group, which contains all processes that the worker started and may have left behind."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _held(pid: int, held: Mapping[int, int]) -> int:
    """Return the number of jobs of a worker. The started process is the parent of the processes with a lease."""
    return sum(jobs for worker, jobs in held.items() if pid in (worker, _parent(worker)))


def _parent(pid: int) -> int | None:
    """Return the ID of the parent process. None if the process does not exist or the system has no ``/proc``."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("PPid:")), None)
