"""Worker processes of one target, and the guard process that stops them if the autoscaler dies.

The autoscaler writes to the guard through a pipe. A line ``+17`` means that process 17 runs. A line ``-17`` means that
it has exited, or was asked to stop. The pipe closes when the autoscaler ends for any reason. The guard then sends
SIGTERM once to each worker that is left, because a worker that gets two signals abandons its jobs. The parent-death
signal of Linux is no alternative, because the kernel sends it once for each thread of the parent.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from sluice.ops.autoscale.decision import ScalingTarget


class Guard(subprocess.Popen[bytes]):
    """Guard process as a context manager. It is not needed after the block, and ends."""

    def __init__(self) -> None:
        command = [sys.executable, "-P", "-m", "sluice.ops.autoscale.workers"]
        super().__init__(command, stdin=subprocess.PIPE, bufsize=0, start_new_session=True)

    def note(self, line: str) -> None:
        """Send a line to the guard. Without a guard the autoscaler goes on, but its workers are not stopped if it
        dies.
        """
        if self.stdin is not None and not self.stdin.closed:
            with suppress(BrokenPipeError):
                self.stdin.write(f"{line}\n".encode())


def watch(lines: Iterable[str]) -> None:
    """Read the lines for the guard until the pipe closes, and stop the workers that are left."""
    there: set[int] = set()
    for line in lines:
        (there.add if line.startswith("+") else there.discard)(int(line[1:]))
    for pid in there:
        # A worker leads a process group of its own. A process that has reused the worker's ID hardly ever does.
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(pid) == pid:
                os.kill(pid, signal.SIGTERM)


class LocalWorker(subprocess.Popen[bytes]):
    """Worker in a session of its own, so a Ctrl-C in this terminal does not reach it and only the autoscaler stops it.
    ``asked``: it was asked to stop. ``lived_s`` is its lifetime after its exit.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        super().__init__(command, env=environment, stdin=subprocess.DEVNULL, start_new_session=True)
        self.began_s = time.monotonic()
        self.lived_s = 0.0
        self.asked = False


class LocalWorkers:
    """Workers of one target. If the autoscaler dies without stopping them, the guard stops them. ``lack`` is the error
    if not all workers could be started last time.
    """

    def __init__(
        self, target: ScalingTarget, command: Sequence[str], environment: Mapping[str, str], guard: Guard
    ) -> None:
        self.target = target
        self.lack = ""
        self._command = command
        self._environment = environment
        self._guard = guard
        self._workers: list[LocalWorker] = []

    @property
    def working(self) -> int:
        return sum(not worker.asked for worker in self._workers)

    @property
    def leaving(self) -> int:
        return len(self._workers) - self.working

    def start(self) -> int:
        """Start a worker and return its process ID. OSError if it cannot be started."""
        worker = LocalWorker(self._command, self._environment)
        self._guard.note(f"+{worker.pid}")
        self._workers.append(worker)
        return worker.pid

    def take_exited(self) -> list[LocalWorker]:
        """Return the workers that have exited since the last call."""
        waiting = os.WEXITED | os.WNOHANG | os.WNOWAIT
        exited = [worker for worker in self._workers if os.waitid(os.P_PID, worker.pid, waiting)]
        for worker in exited:
            # The process is not reaped yet, so its group ID cannot belong to another process group.
            _signal_group(worker.pid, signal.SIGTERM)
            self._remove(worker)
        return exited

    def stop(self, number: int, held: Mapping[int, int]) -> list[int]:
        """Ask some workers to stop and return their process IDs. Workers without jobs come first, then those with the
        fewest jobs. Of equal workers, the youngest comes first. ``held`` is the number of jobs by process ID, according
        to the ledger.
        """
        staying = [worker for worker in self._workers if not worker.asked]
        staying.sort(key=lambda worker: (_held(worker.pid, held), -worker.began_s))
        for worker in staying[:number]:
            worker.asked = True
            # ``Popen.terminate`` would reap a process that has exited, and ``take_exited`` could not find it any more.
            os.kill(worker.pid, signal.SIGTERM)
            # The guard must not signal the worker again. A worker that it forgets without a signal would never stop.
            self._guard.note(f"-{worker.pid}")
        return [worker.pid for worker in staying[:number]]

    def kill(self) -> None:
        """Kill all workers. Other workers take over their jobs when the leases have ended."""
        for worker in self._workers:
            _signal_group(worker.pid, signal.SIGKILL)
        for worker in [*self._workers]:
            self._remove(worker)

    def _remove(self, worker: LocalWorker) -> None:
        self._workers.remove(worker)
        self._guard.note(f"-{worker.pid}")
        worker.lived_s = time.monotonic() - worker.began_s
        worker.wait()


def _signal_group(pid: int, number: signal.Signals) -> None:
    """Signal the process group, which contains all processes that the worker started and may have left behind."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _held(session: int, held: Mapping[int, int]) -> int:
    """Return the number of jobs of a worker. The processes with a lease are in the session of the worker."""
    jobs = 0
    for pid, number in held.items():
        with suppress(ProcessLookupError, PermissionError):
            jobs += number if os.getsid(pid) == session else 0
    return jobs


if __name__ == "__main__":
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    watch(sys.stdin)
