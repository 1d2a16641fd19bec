"""Beginning and end of a job's output, in memory that does not grow with the output."""

from collections.abc import Callable

from sluice.jobs.outcome import KEPT_BYTES, keep
from sluice.jobs.runners.spool import Spool

_HEAD_BYTES = KEPT_BYTES
#: The note about omitted bytes takes its space from the end, so that `keep` does not cut again.
_TAIL_BYTES = KEPT_BYTES - 64


class Excerpt:
    """Head and tail of a stream of bytes. ``size`` counts all bytes of the stream.

    ``echo`` receives all of them. With ``whole``, the ``spool`` on disk also stores them.
    """

    def __init__(self, echo: Callable[[bytes], object] | None = None, *, whole: bool = False) -> None:
        self.size = 0
        self.spool = Spool() if whole else None
        self._echo = echo
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self._echo is not None:
            self._echo(chunk)
        if self.spool is not None:
            self.spool.add(chunk)
        room = _HEAD_BYTES - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk[-_TAIL_BYTES:]
        if len(self._tail) > 2 * _TAIL_BYTES:  # Not at every chunk, because a cut copies the tail.
            del self._tail[:-_TAIL_BYTES]

    def add_text(self, text: str) -> None:
        self.add(text.encode("utf-8", "replace"))

    @property
    def is_all(self) -> bool:
        """True if ``text`` returns the whole stream, byte for byte."""
        kept = bytes(self._head + self._tail)
        return len(kept) == self.size and self.text().encode() == kept

    def close(self) -> None:
        if self.spool is not None:
            self.spool.close()

    def text(self) -> str:
        """Return the kept text in a form that every store accepts: no NUL, and U+FFFD in place of invalid UTF-8."""
        tail = bytes(self._tail[-_TAIL_BYTES:])
        left_out = self.size - len(self._head) - len(tail)
        if left_out:
            kept = _whole(self._head) + f"\n… {left_out} bytes left out …\n" + _whole(tail)
        else:
            kept = (self._head + tail).decode("utf-8", "replace")
        return keep(kept)


def legible(text: str) -> str:
    """Return text from user code within the same limits. Lone surrogates, which no store accepts, become ``?``."""
    return keep(text.encode("utf-8", "replace").decode())


def _whole(cut: bytes | bytearray) -> str:
    """Return the text between two cuts, without the partial characters at either edge."""
    start = next((i for i, byte in enumerate(cut[:4]) if byte & 0xC0 != 0x80), 0)
    text = bytes(cut[start:]).decode("utf-8", "replace")
    return text[:-1] if text.endswith("\ufffd") else text
