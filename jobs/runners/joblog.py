"""``job.log``: a standard logger of one run. Its lines are written to the job's output and to the worker's log."""

import logging
import time
from collections.abc import Callable
from threading import Lock

from sluice.jobs.ref import JobName
from sluice.jobs.subject import about, of_name, spoken_of

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
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
            self._write(f"{at} {record.levelname} {text}\n")
            self._tell(record.levelno, text)
        except Exception:
            _COMPLAINTS.handleError(record)
