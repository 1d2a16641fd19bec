"""Outcome of one claim of a job."""

from enum import StrEnum

from msgspec import Struct

#: Characters of an output that the ledger keeps: this many from the beginning and this many from the end.
KEPT_BYTES = 16 * 1024


class Ending(StrEnum):
    """Ending of a run, as the worker saw it. The planner and the ledger decide the consequences."""

    DONE = "done"
    ERROR = "error"
    DISMAL = "dismal"
    TIMED_OUT = "timed_out"
    HANDED_BACK = "handed_back"
    #: Handed back, and no code of the user's has run.
    NOT_BEGUN = "not_begun"
    SUSPENDED = "suspended"
    #: This worker has no definition of the job's version. Another worker may have it.
    NOT_HERE = "not_here"
    #: Long-running work was started and continues. Nothing has ended, so there is nothing to record.
    GOES_ON = "goes_on"


class Outcome(Struct, frozen=True, kw_only=True):
    """Result of a run.

    ``error`` is text for people. ``output`` and ``stderr`` are the text that the job printed, already capped. If the
    whole text was stored, ``output_blob`` and ``stderr_blob`` name it. ``log`` has the messages of the runner, one
    per line.

    A suspended job waits for the event named ``event``, or for any event if it is None. It waits at most ``waits_s``
    from the time that its journal records as the start of the wait.

    ``took_s`` is the duration of the work itself by the worker's clock. It is used for estimates only; no decision
    depends on it.

    After an error, ``final`` fails the job although tries are left. ``retry_after_s`` overrides the delay of the
    app's ``retry``.
    """

    ending: Ending
    error: str | None = None
    exit_code: int | None = None
    output: str = ""
    stderr: str = ""
    event: str | None = None
    waits_s: float | None = None
    took_s: float | None = None
    output_blob: str | None = None
    stderr_blob: str | None = None
    log: str = ""
    final: bool = False
    retry_after_s: float | None = None


def keep(text: str) -> str:
    """Return the text. If it has more than ``2 * KEPT_BYTES`` characters, return its head, a note about the omission
    and its tail.

    NUL is dropped because Postgres cannot store it in a text.
    """
    text = text.replace("\x00", "")
    if len(text) <= 2 * KEPT_BYTES:
        return text
    left_out = len(text) - 2 * KEPT_BYTES
    return f"{text[:KEPT_BYTES]}\n… {left_out} characters left out …\n{text[-KEPT_BYTES:]}"
