"""What one claim of a job came to."""

from enum import StrEnum

from msgspec import Struct

#: The ledger keeps this much of the beginning and of the end of an output.
KEPT_BYTES = 16 * 1024


class Ending(StrEnum):
    """How a run ended, as the worker saw it. What follows from it is judged elsewhere."""

    DONE = "done"
    ERROR = "error"
    DISMAL = "dismal"
    TIMED_OUT = "timed_out"
    HANDED_BACK = "handed_back"
    #: Likewise, and no code of the user's has run.
    NOT_BEGUN = "not_begun"
    SUSPENDED = "suspended"
    #: This worker has no definition of the version that the job is of; another may have.
    NOT_HERE = "not_here"
    #: Its work was started and goes on until it is stopped: nothing has ended, and there is nothing to record.
    GOES_ON = "goes_on"


class Outcome(Struct, frozen=True, kw_only=True):
    """``error`` is text for people; ``output`` and ``stderr`` are what the job printed, already capped. Where the whole
    was stored, ``output_blob`` and ``stderr_blob`` name it. A suspended one waits for the ``event``, or for any,
    for no longer than ``waits_s``. ``log`` has what its runner had to say, line by line.

    A suspended one waits for an ``event``, or for any where there is no name, and no longer than ``waits_s`` from
    where its journal says that it began to.

    ``took_s`` is what the work itself took by the worker's clock. It is for estimates: nothing is decided by it.

    After an error, ``final`` fails the job although tries are left, and ``retry_after_s`` overrides the delay of the
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
    """The text, or its head and tail with a note of what was left out, within ``2 * KEPT_BYTES``.

    NUL is dropped because Postgres cannot store it in a text.
    """
    text = text.replace("\x00", "")
    if len(text) <= 2 * KEPT_BYTES:
        return text
    left_out = len(text) - 2 * KEPT_BYTES
    return f"{text[:KEPT_BYTES]}\n… {left_out} characters left out …\n{text[-KEPT_BYTES:]}"
