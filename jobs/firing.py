"""Due times of schedules and their outcomes. The scheduler decides by these types and the ledger stores them."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from sluice.jobs.submission import SCHEDULED, Submission


class FiringOutcome(StrEnum):
    """Outcome of one due time. All except ``queued`` are final."""

    FIRED = "fired"
    QUEUED = "queued"
    SKIPPED = "skipped"
    COALESCED = "coalesced"
    MISSED = "missed"
    PAUSED = "paused"
    FAULTY = "faulty"


class Firing(Struct, frozen=True, kw_only=True):
    """One due time of a schedule. If it has been fired, ``submission`` is the request that was submitted."""

    schedule: str
    due: datetime
    outcome: FiringOutcome
    note: str | None = None
    submission: Submission | None = None


class Standing(Struct, frozen=True, kw_only=True):
    """Stored state of a schedule: its rule, and its first due time without an outcome (``next_due``).

    ``fire_at`` is that due time plus jitter. Both are None if no due time is left. ``resumed_at`` is the time of the
    last resume.
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
    """Open work of a schedule.

    ``own`` are its own open submissions, ``app`` is true if its app has any open submission, ``waiting`` are its
    queued due times.
    """

    own: tuple[str, ...] = ()
    app: bool = False
    waiting: tuple[datetime, ...] = ()


class Overlapping(NamedTuple):
    """Rule for overlaps: ``way`` applies while a submission of the same schedule is open.

    With ``of_app`` it also applies while any submission of the app is open.
    """

    way: str | None
    of_app: bool = False


def iso(instant: datetime) -> str:
    """Return the instant as text, for example ``2026-11-20T02:00:00Z``."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def submission_id(schedule: str, due: datetime) -> str:
    """Return the submission id of a due time. It is the same for any process that fires it."""
    return f"{SCHEDULED}{schedule}:{iso(due)}"


def by_hand_id(schedule: str, mark: str) -> str:
    """Return the submission id of a firing by hand, without a due time."""
    return f"{SCHEDULED}{schedule}:by hand:{mark}"
