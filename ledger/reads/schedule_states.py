"""Schedules with their present state, and the outcomes of their due times."""

from datetime import datetime

from msgspec import Struct

from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.schedules.schedule import FiringOutcome
from sluice.ledger.database.connection import Tx

_SCHEDULES = """
SELECT id, app, source, rule, timezone, next_due, fire_at, paused_at, retired_at FROM schedule
WHERE retired_at IS NULL OR %(retired)s ORDER BY id
"""
_FIRINGS = """
SELECT firing.schedule, firing.due, firing.outcome, firing.submission, submission.state, firing.at, firing.note
FROM {firing} firing LEFT JOIN submission ON submission.id = firing.submission
"""
# Reads one row of the primary key for each schedule, however many firings exist.
_LAST = _FIRINGS.format(
    firing="""schedule CROSS JOIN LATERAL (
        SELECT * FROM firing WHERE firing.schedule = schedule.id ORDER BY due DESC LIMIT 1)"""
)
_RECENT = (
    f"{_FIRINGS.format(firing='firing')} WHERE firing.schedule = %(id)s ORDER BY due DESC LIMIT %(limit)s"
)
_AT = f"{_FIRINGS.format(firing='firing')} WHERE firing.schedule = %(id)s AND firing.due = %(due)s"


class FiringRecord(Struct, frozen=True, kw_only=True):
    """Outcome of one due time, decided at a later time ``at``. ``state`` is the state of the submission."""

    schedule: str
    due: datetime
    outcome: FiringOutcome
    submission: str | None
    state: SubmissionState | None
    at: datetime
    note: str | None


class Scheduled(Struct, frozen=True, kw_only=True):
    """Schedule with its present state. ``taken_up`` is false if it is defined, but not in the ledger yet."""

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
    """Return the schedules by id; with ``retired``, also schedules that have left their source."""
    return tx.structs(Scheduled, _SCHEDULES, retired=retired)


def last(tx: Tx) -> dict[str, FiringRecord]:
    """Return the outcome of each schedule's last due time, by the schedule's id."""
    return {each.schedule: each for each in tx.structs(FiringRecord, _LAST)}


def recent(tx: Tx, id: str, limit: int) -> list[FiringRecord]:
    """Return the outcomes of the last due times of one schedule, the last first."""
    return tx.structs(FiringRecord, _RECENT, id=id, limit=limit)


def at(tx: Tx, id: str, due: datetime) -> FiringRecord | None:
    """Return the outcome of this due time; None if there is none."""
    found = tx.structs(FiringRecord, _AT, id=id, due=due)
    return found[0] if found else None
