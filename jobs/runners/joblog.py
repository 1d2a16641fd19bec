"""``job.log``: a standard logger of one run, whose lines go into the job's output and to the worker's log."""

import logging
import time
from collections.abc import Callable
from threading import Lock

from sluice.jobs.ref import JobName
from sluice.jobs.subject import about, of_name, spoken_of

_FORMATTER = logging.Formatter()
#: Says, as any handler of the standard library does, that a line could not be written.
_COMPLAINTS = logging.Handler()

#: Receives a level and a text, for the worker's own log.
Tell = Callable[[int, str], None]


def job_log(name: JobName, *, write: Callable[[str], object], tell: Tell) -> logging.Logger:
    """A logger outside the process's tree, so that it goes when the run does. Every level is written."""
    return _JobLogger(f"sluice.job.{name.app}", write, tell)


def worker_log(name: JobName) -> Tell:
    """Tells the worker's log, at its own level, which job said it. Who makes this is in the thread of the job's run;
    it may be told in another."""
    log = logging.getLogger("sluice.job")
    extra = about(spoken_of() or of_name(name))
    return lambda level, text: log.log(level, "%s: %s", name, text, extra=extra)


class _JobLogger(logging.Logger):
    """It writes by itself: most runs log nothing, and a handler would cost each of them more than all the rest of it.
    Whoever wants to may add handlers."""

    def __init__(self, name: str, write: Callable[[str], object], tell: Tell) -> None:
        super().__init__(name, logging.DEBUG)
        self._write = write
        self._tell = tell
        #: It keeps the lines of several threads whole.
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
