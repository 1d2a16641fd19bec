"""Schedules as they stand, and what became of their due times."""

from datetime import datetime

from msgspec import Struct

from sluice.jobs.firing import FiringOutcome
from sluice.jobs.submission import SubmissionState
from sluice.ledger.connection import Tx

_SCHEDULES = """
SELECT id, app, source, rule, timezone, next_due, fire_at, paused_at, retired_at FROM schedule
WHERE retired_at IS NULL OR %(retired)s ORDER BY id
"""
_FIRINGS = """
SELECT firing.schedule, firing.due, firing.outcome, firing.submission, submission.state, firing.at, firing.note
FROM {firing} firing LEFT JOIN submission ON submission.id = firing.submission
"""
# One row of the primary key for each, however many there are.
_LAST = _FIRINGS.format(
    firing="""schedule CROSS JOIN LATERAL (
        SELECT * FROM firing WHERE firing.schedule = schedule.id ORDER BY due DESC LIMIT 1)"""
)
_RECENT = (
    f"{_FIRINGS.format(firing='firing')} WHERE firing.schedule = %(id)s ORDER BY due DESC LIMIT %(limit)s"
)
_AT = f"{_FIRINGS.format(firing='firing')} WHERE firing.schedule = %(id)s AND firing.due = %(due)s"


class Fired(Struct, frozen=True, kw_only=True):
    """What became of one due time, decided ``at`` some later one; ``state`` is the submission's."""

    schedule: str
    due: datetime
    outcome: FiringOutcome
    submission: str | None
    state: SubmissionState | None
    at: datetime
    note: str | None


class Scheduled(Struct, frozen=True, kw_only=True):
    """A schedule as it stands. ``taken_up`` is false for one that is defined and that no scheduler has seen yet."""

    id: str
    app: str
    source: str
    rule: str
    timezone: str
    next_due: datetime | None
    fire_at: datetime | None
    paused_at: datetime | None = None
    retired_at: datetime | None = None
    taken_up: bool = True


def schedules(tx: Tx, *, retired: bool) -> list[Scheduled]:
    """By their ids; with ``retired``, also those that have left their source."""
    return tx.structs(Scheduled, _SCHEDULES, retired=retired)


def last(tx: Tx) -> dict[str, Fired]:
    """What became of each schedule's last due time, by its id."""
    return {each.schedule: each for each in tx.structs(Fired, _LAST)}


def recent(tx: Tx, id: str, limit: int) -> list[Fired]:
    """The last due times of one schedule, the last first."""
    return tx.structs(Fired, _RECENT, id=id, limit=limit)


def at(tx: Tx, id: str, due: datetime) -> Fired | None:
    """What became of this due time; None where nothing has."""
    found = tx.structs(Fired, _AT, id=id, due=due)
    return found[0] if found else None
