"""Tells workers to go where the process that looks after them has died without a word.

It is a process of its own at the other end of a pipe: ``+17`` on a line says that 17 is there, ``-17`` that nobody has
to tell it any more, for it has gone or has been told. The end of the pipe is the end of whoever wrote, however that
came about, and whoever is there by then is told to go: once, for a worker that is told twice leaves its jobs. (Linux
can have the kernel tell a child of its parent's death, and does so once for each thread that the parent had.)
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Self


class Guard:
    """A context manager; at the end of the block it is not needed any more."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "sluice.ops.autoscale.guard"],
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
        """Without a guard all goes on; nobody is told of our own end then."""
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
        # A worker leads a group of its own; another process that has its number by now hardly does.
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(pid) == pid:
                os.kill(pid, signal.SIGTERM)


if __name__ == "__main__":
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    watch(sys.stdin)
