"""Due times and what became of them: nouns that the scheduler decides by and the ledger keeps."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from sluice.jobs.submission import SCHEDULED, Submission


class FiringOutcome(StrEnum):
    """What became of one due time. All but ``queued`` is its end."""

    FIRED = "fired"
    QUEUED = "queued"
    SKIPPED = "skipped"
    COALESCED = "coalesced"
    MISSED = "missed"
    PAUSED = "paused"
    FAULTY = "faulty"


class Firing(Struct, frozen=True, kw_only=True):
    """One due time of a schedule. ``submission`` is what was asked for, where it has been fired."""

    schedule: str
    due: datetime
    outcome: FiringOutcome
    note: str | None = None
    submission: Submission | None = None


class Standing(Struct, frozen=True, kw_only=True):
    """A schedule as the ledger has it: by which rule it goes, and its first due time that nothing has become of yet.

    ``fire_at`` is that due time with its jitter. Both are None where no more will come. ``resumed_at`` is when it was
    last paused no more.
    """

    id: str
    app: str
    source: str
    digest: str
    rule: str
    timezone: str
    next_due: datetime | None
    fire_at: datetime | None
    paused_at: datetime | None = None
    resumed_at: datetime | None = None
    retired_at: datetime | None = None


class Busy(Struct, frozen=True, kw_only=True):
    """What is under way for a schedule: its own open submissions, whether its app has any, the due times that wait."""

    own: tuple[str, ...] = ()
    app: bool = False
    waiting: tuple[datetime, ...] = ()


class Overlapping(NamedTuple):
    """``way`` applies while a submission of the same schedule is open; ``of_app``: also while any of its app is."""

    way: str | None
    of_app: bool = False


def iso(instant: datetime) -> str:
    """``2026-11-20T02:00:00Z``."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def submission_id(schedule: str, due: datetime) -> str:
    """One for each due time of each schedule, whoever fires it."""
    return f"{SCHEDULED}{schedule}:{iso(due)}"


def by_hand_id(schedule: str, mark: str) -> str:
    """For a firing that no due time asked for."""
    return f"{SCHEDULED}{schedule}:by hand:{mark}"
