"""Logs of a process, whole lines of output, and repeated errors that are logged once.

The log goes to stderr: lines for people, or JSON for machines (``set_up_logs``). A JSON line about a job names it in
fields of its own, as far as they are known. These are ``app``, ``key``, ``round``, ``claim``, the ``submission``
that its run began for, and its ``trace_id``. Fields that code adds by ``extra=`` are in the line under their own names,
or with ``extra_`` in front if the line has a field of that name.

Jobs that print in several threads write whole lines (``whole_lines``). ``print`` writes a line in two pieces, its text
and its end, so threads that print at the same time mix their lines. Here each thread's pieces wait until they form a
line, or until the thread flushes.

``ErrorThrottle`` is for errors that a thread survives, because its process would be useless without it. Such an error
is unexpected, so it is logged with its traceback. The same error may occur in each period. So each kind is logged once,
and again only after a period without an error.
"""

import logging
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from logging import Logger
from threading import RLock, get_ident
from types import TracebackType
from typing import Any, TextIO

import msgspec

from sluice.jobs.errors import SluiceError
from sluice.jobs.observe.log_context import Subject, subject_of
from sluice.jobs.runners.run_output import outside_of_runs

_CRASHES = logging.getLogger("sluice.process")
#: Loggers whose lines of level INFO are always written: starts and ends of outages (``jobs.observe.outages``), and
#: successful runs, if a process logs them (``executor.execution``).
_ALWAYS = ("sluice.outages", "sluice.runs")
_TEXT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC),
            "level": record.levelname.lower(),
            "logger": record.name,
            "pid": record.process,
            "message": _written(record.getMessage()),
        }
        if subject := subject_of(record):
            line |= msgspec.to_builtins(subject)
        if record.exc_info:
            line["error"] = _written(self.formatException(record.exc_info))
        if record.stack_info:
            line["stack"] = _written(record.stack_info)
        for name, value in record.__dict__.items():
            if name not in _OF_RECORDS:
                line[f"extra_{name}" if name in _OF_LINES else name] = value
        return _encoded(line)


#: Attributes that every log record has, and that of a job's line (``jobs.observe.log_context``).
_OF_RECORDS = {*logging.makeLogRecord({}).__dict__, "message", "asctime", "taskName", "subject"}
#: Fields that a line may have of its own.
_OF_LINES = {"at", "level", "logger", "pid", "message", "error", "stack", *Subject.__struct_fields__}


def _encoded(line: Mapping[str, object]) -> str:
    """Return the line as JSON. A value that JSON cannot have is written as Python shows it."""
    try:
        return msgspec.json.encode(line, enc_hook=_shown).decode()
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        # Half a surrogate pair in a text, a key that is no text, or a list that contains itself.
        shown = {
            name: value if isinstance(value, datetime) else _shown(value) for name, value in line.items()
        }
        return msgspec.json.encode(shown).decode()


def _shown(value: object) -> object:
    """Return a number, a truth or a text as it is, and any other value as Python shows it."""
    if value is None or isinstance(value, bool | int | float):
        return value
    try:
        return _written(value if isinstance(value, str) else repr(value))
    except Exception:
        return f"<{type(value).__name__} that cannot be shown>"


def _written(text: str) -> str:
    """Replace half surrogate pairs by their escapes. They occur in file names that are not UTF-8, and cannot be
    encoded."""
    return text.encode("utf-8", "backslashreplace").decode()


class _Stderr:
    """Writer to the present ``sys.stderr``. A live display replaces that, so that log lines appear above the
    display. A line that is logged in a run is not part of its output."""

    def write(self, text: str) -> None:
        with outside_of_runs():
            sys.stderr.write(text)

    def flush(self) -> None:
        with outside_of_runs():
            sys.stderr.flush()


def set_up_logs(kind: str, *, verbose: bool = False) -> None:
    """Send the log to stderr as ``text`` or ``json``. Without ``verbose``, only warnings and errors, the ends of
    outages, and ended runs."""
    level = logging.INFO if verbose else logging.WARNING
    handler = logging.StreamHandler(_Stderr())
    for name in _ALWAYS:
        logging.getLogger(name).setLevel(logging.INFO)
    if not verbose:
        # ``captured_runs`` has all loggers emit from INFO on, so that the output of a job is the same in every command.
        handler.addFilter(lambda record: record.levelno >= level or record.name in _ALWAYS)
    handler.setFormatter(_JsonLines() if kind == "json" else logging.Formatter(_TEXT))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger("pika").setLevel(logging.CRITICAL)
    logging.getLogger("alembic.runtime.plugins").setLevel(logging.WARNING)


def is_json_log() -> bool:
    """Return whether the log is JSON. A process that has not set it up yet has only its environment to decide by."""
    handlers = logging.getLogger().handlers
    if any(isinstance(each.formatter, logging.Formatter) for each in handlers):
        return any(isinstance(each.formatter, _JsonLines) for each in handlers)
    return os.environ.get("SLUICE_LOG") == "json"


def log_last_words(program: str, error: SluiceError) -> None:
    """Log the error that ends a process as one line of JSON."""
    if not any(isinstance(each.formatter, _JsonLines) for each in logging.getLogger().handlers):
        set_up_logs("json")
    fields = {name: text for name, text in (("where", error.where), ("advice", error.advice)) if text}
    logging.getLogger(f"sluice.{program}").error("%s", error.what, extra=fields)


@contextmanager
def logged_crashes() -> Iterator[None]:
    """Log uncaught exceptions and warnings of Python while the block lasts. Python itself writes plain text."""
    before = sys.excepthook, threading.excepthook

    def crashed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        _CRASHES.critical("the process ends because of an error", exc_info=(kind, error, trace))

    def thread_crashed(crash: threading.ExceptHookArgs) -> None:
        if crash.exc_value is not None:
            name = crash.thread.name if crash.thread else "unknown"
            _CRASHES.error("the thread %s ends because of an error", name, exc_info=crash.exc_value)

    sys.excepthook, threading.excepthook = crashed, thread_crashed
    logging.captureWarnings(capture=True)
    try:
        yield
    finally:
        logging.captureWarnings(capture=False)
        sys.excepthook, threading.excepthook = before


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


class ErrorThrottle:
    """Error log of one thread. ``about`` names the operation that failed."""

    def __init__(self, log: Logger, about: str) -> None:
        self._log = log
        self._about = about
        self._told: set[tuple[type[Exception], str]] = set()

    def log(self, error: Exception) -> None:
        """Log an error that is being handled, unless its kind was logged since the last success."""
        kind = (type(error), error.what if isinstance(error, SluiceError) else "")
        if kind not in self._told:
            self._told.add(kind)
            self._log.error("%s: %s", self._about, error, exc_info=error)

    def forget(self) -> None:
        """Note a success, so that every kind of error is logged again."""
        self._told.clear()
