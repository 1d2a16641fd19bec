"""``job.log``: a standard logger of one run, whose lines go into the job's output and to the worker's log."""

import logging
import time
from collections.abc import Callable

from jobs.ref import JobName

#: Receives a level and a text, for the worker's own log.
Tell = Callable[[int, str], None]


def job_log(name: JobName, *, write: Callable[[str], object], tell: Tell) -> logging.Logger:
    """A logger outside the process's tree, so that it goes when the run does. Every level is written."""
    log = logging.Logger(f"sluice.job.{name.app}", logging.DEBUG)
    log.addHandler(_JobHandler(write, tell))
    return log


def worker_log(name: JobName) -> Tell:
    """Tells the worker's log, at its own level, which job said it."""
    log = logging.getLogger("sluice.job")
    return lambda level, text: log.log(level, "%s: %s", name, text)


class _JobHandler(logging.Handler):
    """The lock of its base keeps the lines of several threads whole."""

    def __init__(self, write: Callable[[str], object], tell: Tell) -> None:
        super().__init__()
        self._write = write
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record)
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
            self._write(f"{at} {record.levelname} {text}\n")
            self._tell(record.levelno, text)
        except Exception:
            self.handleError(record)
