"""Guard process that stops the workers if the autoscaler dies without stopping them.

The autoscaler writes to it through a pipe. A line ``+17`` means that process 17 runs. A line ``-17`` means that it has
exited, or was asked to stop. The pipe closes when the autoscaler ends for any reason. The guard then sends SIGTERM once
to each worker that is left, because a worker that gets two signals abandons its jobs. The parent-death signal of Linux
is no alternative, because the kernel sends it once for each thread of the parent.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Self


class Guard:
    """Guard process as a context manager. It is not needed after the block, and ends."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "sluice.ops.autoscale.orphan_guard"],
            stdin=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(BrokenPipeError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        self._process.wait()

    def has_come(self, pid: int) -> None:
        self._say(f"+{pid}")

    def forget(self, pid: int) -> None:
        self._say(f"-{pid}")

    def _say(self, line: str) -> None:
        """Send a line to the guard. Without a guard the autoscaler goes on, but its workers are not stopped if it
        dies.
        """
        pipe = self._process.stdin
        with suppress(BrokenPipeError):
            if pipe is not None and not pipe.closed:
                pipe.write(f"{line}\n")
                pipe.flush()


def watch(lines: Iterable[str]) -> None:
    there: set[int] = set()
    for line in lines:
        pid = int(line[1:])
        (there.add if line.startswith("+") else there.discard)(pid)
    for pid in there:
        # A worker leads a process group of its own. A process that has reused the worker's ID hardly ever does.
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(pid) == pid:
                os.kill(pid, signal.SIGTERM)


if __name__ == "__main__":
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    watch(sys.stdin)
