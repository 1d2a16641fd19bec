"""Whole lines of output for jobs that print in several threads.

``print`` writes a line in two pieces, its text and its end, so threads that print at the same time mix their lines.
Here each thread's pieces wait until they form a line, or until the thread flushes.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock, get_ident
from typing import Any, TextIO


@contextmanager
def whole_lines() -> Iterator[None]:
    """Write stdout by whole lines while the block lasts."""
    stream = sys.stdout
    lines = Lines(stream)
    sys.stdout = lines
    try:
        yield
    finally:
        sys.stdout = stream
        lines.close()


class Lines:
    """Text stream in front of another one, which handles everything that this class does not."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = RLock()  # A signal handler may print while its thread holds the lock.
        self._begun: defaultdict[int, str] = defaultdict(str)

    def write(self, text: str) -> int:
        whole, end, rest = text.rpartition("\n")
        with self._lock:
            if end:
                self._stream.write(self._begun.pop(get_ident(), "") + whole + end)
            if rest:
                self._begun[get_ident()] += rest
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        self.write("".join(lines))

    def flush(self) -> None:
        """Write the unfinished line of this thread, for example a prompt or a progress bar."""
        with self._lock:
            self._stream.write(self._begun.pop(get_ident(), ""))
            self._stream.flush()

    def close(self) -> None:
        """Write the unfinished lines of all threads as they are. The stream stays open."""
        with self._lock:
            for text in self._begun.values():
                self._stream.write(text)
            self._begun.clear()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
