"""What has happened to one job: its transitions, and its claims by workers."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct


class Lost(StrEnum):
    """Why a run was taken from its worker: the note of a transition that ends a round so, though tries are left."""

    TIMED_OUT = "timed out"
    LEASE_LOST = "lease lost"


class Round(Struct, frozen=True):
    """One claim of the job. A round that was handed back has several. ``digest`` is of the definition that ran,
    ``code`` the version of the users' code that its worker had. The blobs have the whole of what ``output`` and
    ``stderr`` have the ends of, which are so many bytes, read or not. ``log`` is what the runner had to say.
    ``error_after_commit`` is what failed after the run had committed its own success (``job.transaction()``)."""

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
        """Whether what it printed stands here, if it printed anything."""
        return all(
            text is not None or not length
            for text, length in ((self.output, self.output_bytes), (self.stderr, self.stderr_bytes))
        )


class Transition(Struct, frozen=True):
    """One step from state to state; ``source`` is ``-`` where the job was made. ``round`` is the one that it led to."""

    at: datetime
    source: str
    target: str
    verb: str
    by: str
    round: int
    claim: int
    note: str | None
