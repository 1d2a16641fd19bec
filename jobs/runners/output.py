"""Output of a run: excerpts for the ledger, complete streams, and log lines.

- An ``Excerpt`` is the beginning and the end of a job's output, in memory that does not grow with the output.
- A ``Spool`` is the complete output of a run on one stream, up to ``SPOOLED_BYTES_MAX``, on disk while the run lasts.
- ``job_log`` returns ``job.log``, a standard logger of one run. Its lines are written to the job's output and to the
  worker's log.
"""

import logging
import tempfile
import time
from collections.abc import Callable
from io import BytesIO
from threading import Lock, RLock
from typing import IO, cast

from sluice.jobs.model.job import KEPT_BYTES, keep
from sluice.jobs.model.names import JobName
from sluice.jobs.observe.log_context import about, of_name, spoken_of

_HEAD_BYTES = KEPT_BYTES
#: The note about omitted bytes takes its space from the end, so that `keep` does not cut again.
_TAIL_BYTES = KEPT_BYTES - 64


class Excerpt:
    """Head and tail of a stream of bytes. ``size`` counts all bytes of the stream.

    ``echo`` receives all of them. With ``whole``, the ``spool`` on disk also stores them. Any thread may read the text
    while another one adds to it. The lock is reentrant, because a finalizer that prints may run in the middle of
    ``add``.
    """

    def __init__(self, echo: Callable[[bytes], object] | None = None, *, whole: bool = False) -> None:
        self.size = 0
        self.spool = Spool() if whole else None
        self._echo = echo
        self._head = bytearray()
        self._tail = bytearray()
        self._lock = RLock()

    def add(self, chunk: bytes) -> None:
        if self._echo is not None:
            self._echo(chunk)
        if self.spool is not None:
            self.spool.add(chunk)
        with self._lock:
            self.size += len(chunk)
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
        with self._lock:
            head, tail, size = bytes(self._head), bytes(self._tail[-_TAIL_BYTES:]), self.size
        left_out = size - len(head) - len(tail)
        if left_out:
            kept = _whole(head) + f"\n… {left_out} bytes left out …\n" + _whole(tail)
        else:
            kept = (head + tail).decode("utf-8", "replace")
        return keep(kept)


def legible(text: str) -> str:
    """Return text from user code, shortened by ``keep``. Lone surrogates, which no store accepts, become ``?``."""
    return keep(text.encode("utf-8", "replace").decode())


def _whole(cut: bytes) -> str:
    """Return the text between two cuts, without the partial characters at either edge."""
    start = next((i for i, byte in enumerate(cut[:4]) if byte & 0xC0 != 0x80), 0)
    text = cut[start:].decode("utf-8", "replace")
    return text[:-1] if text.endswith("\ufffd") else text


#: Maximum number of bytes of one stream that are spooled (1 GiB); more output is dropped.
SPOOLED_BYTES_MAX = 1024**3
#: Bytes of a spooled stream that stay in memory: most runs print less, and need no file.
_IN_MEMORY_BYTES = 64 * 1024


class Spool:
    """Spooled output. ``trouble`` is the reason if it is incomplete: a full disk does not end the run."""

    def __init__(self) -> None:
        self.trouble: str | None = None
        self._file: IO[bytes] = BytesIO()
        self._size = 0

    def add(self, chunk: bytes) -> None:
        room = SPOOLED_BYTES_MAX - self._size
        if self.trouble is not None:
            return
        if len(chunk) > room:
            self.trouble = f"it is longer than {SPOOLED_BYTES_MAX} bytes, and the rest of it is lost"
        try:
            self._take(chunk[:room])
        except OSError as error:
            self.trouble = f"it could not be written while the job ran: {error.strerror or error}"

    @property
    def size(self) -> int:
        return self._size

    def read(self) -> IO[bytes]:
        """Return the stored output, from the beginning."""
        self._file.seek(0)
        return self._file

    def close(self) -> None:
        self._file.close()

    def _take(self, chunk: bytes) -> None:
        if self._size <= _IN_MEMORY_BYTES < self._size + len(chunk):
            self._go_to_disk()
        self._write(chunk)

    def _go_to_disk(self) -> None:
        """Move the output to a file without a buffer. A buffer that the disk refuses would fail the next file
        operation.
        """
        in_memory = cast(BytesIO, self._file).getvalue()
        self._file = cast(IO[bytes], tempfile.TemporaryFile(buffering=0))  # noqa: SIM115  # ``close`` closes it.
        self._size = 0
        self._write(in_memory)

    def _write(self, content: bytes) -> None:
        """Write the whole content. One call writes only as much as an unbuffered file has room for."""
        left = memoryview(content)
        while left:
            written = self._file.write(left)
            self._size += written
            left = left[written:]


_FORMATTER = logging.Formatter()
#: Reports a line that could not be written, as every handler of the standard library does.
_COMPLAINTS = logging.Handler()

#: Receives a level and a text, and writes them to the worker's own log.
Tell = Callable[[int, str], None]


def job_log(name: JobName, *, write: Callable[[str], object], tell: Tell) -> logging.Logger:
    """Return a logger that is not in the process's logger tree, so that it is freed with the run. It writes every
    level.
    """
    return _JobLogger(f"sluice.job.{name.app}", write, tell)


def worker_log(name: JobName) -> Tell:
    """Return a function that writes a line of this job to the worker's log, with the line's level and the job's name.

    Call this in the thread of the job's run. The returned function may be called in any thread.
    """
    log = logging.getLogger("sluice.job")
    extra = about(spoken_of() or of_name(name))
    return lambda level, text: log.log(level, "%s: %s", name, text, extra=extra)


def log_line(record: logging.LogRecord, text: str) -> str:
    """Return a log record with this text as a line of a job's output."""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
    return f"{at} {record.levelname} {text}\n"


class _JobLogger(logging.Logger):
    """Logger that writes records itself. Most runs log nothing, and a handler would cost each run more than the rest of
    the logger. User code may add handlers.
    """

    def __init__(self, name: str, write: Callable[[str], object], tell: Tell) -> None:
        super().__init__(name, logging.DEBUG)
        self._write = write
        self._tell = tell
        #: Keeps lines of several threads from mixing.
        self._lock = Lock()

    def handle(self, record: logging.LogRecord) -> None:
        if self.disabled or not self.filter(record):
            return
        with self._lock:
            self._note(record)
        if self.handlers:
            self.callHandlers(record)

    def _note(self, record: logging.LogRecord) -> None:
        try:
            text = _FORMATTER.format(record)
            self._write(log_line(record, text))
            self._tell(record.levelno, text)
        except Exception:
            _COMPLAINTS.handleError(record)
