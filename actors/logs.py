"""Log of a process on stderr: lines for people, or JSON for machines.

A JSON line about a job names it in fields of its own, as far as they are known: ``app``, ``key``, ``round``, ``claim``,
and the ``submission`` that its run began for.
"""

import logging
import sys
from datetime import UTC, datetime

import msgspec

from sluice.jobs.subject import subject_of

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
        return msgspec.json.encode(line).decode()


def _written(text: str) -> str:
    """Replace half surrogate pairs by their escapes. They occur in file names that are not UTF-8, and cannot be
    encoded."""
    return text.encode("utf-8", "backslashreplace").decode()


class _Stderr:
    """Writer to the present ``sys.stderr``. A live display replaces that, so that log lines appear above the
    display."""

    def write(self, text: str) -> None:
        sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def set_up_logs(kind: str, *, verbose: bool = False) -> None:
    """Send the log to stderr as ``text`` or ``json``. Without ``verbose``, only warnings and errors."""
    handler = logging.StreamHandler(_Stderr())
    handler.setFormatter(_JsonLines() if kind == "json" else logging.Formatter(_TEXT))
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("pika").setLevel(logging.CRITICAL)
    logging.getLogger("alembic.runtime.plugins").setLevel(logging.WARNING)
