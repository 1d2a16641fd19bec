"""What jobs print in threads beside one another, kept to whole lines.

``print`` writes a line in two pieces, its text and its end, so that threads which print at once write into each
other's lines. Here each thread's pieces wait until there is a line of them, or until the thread flushes.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock, get_ident
from typing import Any, TextIO


@contextmanager
def whole_lines() -> Iterator[None]:
    """For as long as the block lasts, whoever writes to stdout does so by lines."""
    stream = sys.stdout
    lines = Lines(stream)
    sys.stdout = lines
    try:
        yield
    finally:
        sys.stdout = stream
        lines.close()


class Lines:
    """A text stream before another one, which has all that this one does not do itself."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = RLock()  # A signal's handler may print in the middle of it.
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
        """A line that has begun is shown as far as it goes: a question, or a bar of progress."""
        with self._lock:
            self._stream.write(self._begun.pop(get_ident(), ""))
            self._stream.flush()

    def close(self) -> None:
        """The stream stays open. What threads have left without an end is written as it is."""
        with self._lock:
            for text in self._begun.values():
                self._stream.write(text)
            self._begun.clear()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
