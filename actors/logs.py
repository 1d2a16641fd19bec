"""What a process says of itself, on stderr: lines for people, or JSON for machines.

A line of JSON that is about a job names it in fields of its own: ``app``, ``key``, ``round``, ``claim``, and the
``submission`` that its run began for, as far as whoever speaks knows them.
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
    """Half of a surrogate pair, as in the name of a file that is no UTF-8, cannot be encoded; its escape can be."""
    return text.encode("utf-8", "backslashreplace").decode()


class _Stderr:
    """What stderr is at the moment: a live display puts itself in its place, so that lines go above it."""

    def write(self, text: str) -> None:
        sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def set_up_logs(kind: str, *, verbose: bool = False) -> None:
    """Send the log to stderr as ``text`` or ``json``. Without ``verbose``, warnings and worse only."""
    handler = logging.StreamHandler(_Stderr())
    handler.setFormatter(_JsonLines() if kind == "json" else logging.Formatter(_TEXT))
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("pika").setLevel(logging.CRITICAL)
    logging.getLogger("alembic.runtime.plugins").setLevel(logging.WARNING)
