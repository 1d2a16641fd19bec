"""History of one job: its transitions and its claims."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct


class Lost(StrEnum):
    """Reason why a run was taken from its worker. It is the note of a transition that ends a round while tries are
    left.
    """

    TIMED_OUT = "timed out"
    LEASE_LOST = "lease lost"


class Round(Struct, frozen=True):
    """One claim of the job. A round that was handed back has several.

    ``digest`` identifies the definition that ran, ``code`` the version of the users' code on its worker. ``output``
    and ``stderr`` hold the stored ends of a text, and the blobs hold the whole text. ``output_bytes`` and
    ``stderr_bytes`` are the lengths of the stored texts, and are set even if the texts were not read. ``log`` has the
    messages of the runner. ``error_after_commit`` is an error after the run had committed its own success
    (``job.transaction()``).
    """

    round: int
    claim: int
    worker: str
    running_at: datetime
    executed_at: datetime | None
    ending: str | None
    took_s: float | None
    exit_code: int | None
    error: str | None
    output: str | None
    stderr: str | None
    digest: str | None = None
    code: str | None = None
    output_blob: str | None = None
    stderr_blob: str | None = None
    log: str | None = None
    error_after_commit: str | None = None
    output_bytes: int = 0
    stderr_bytes: int = 0

    @property
    def has_texts(self) -> bool:
        """True if the stored texts were read, or are empty."""
        return all(
            text is not None or not length
            for text, length in ((self.output, self.output_bytes), (self.stderr, self.stderr_bytes))
        )


class Transition(Struct, frozen=True):
    """One step from state to state.

    ``source`` is ``-`` for the creation of the job. ``round`` is the round after the step.
    """

    at: datetime
    source: str
    target: str
    verb: str
    by: str
    round: int
    claim: int
    note: str | None
