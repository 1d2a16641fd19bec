"""How far submissions are."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from jobs.states import State
from jobs.submission import SubmissionState
from ledger.connection import Tx

_STATUS = """
SELECT number, id, app, state, reason, request->>'key' AS key, received_at, ended_at
FROM submission WHERE id = %(id)s
"""
_RECENT = """
SELECT number, id, app, state, reason, request->>'key' AS key, received_at, ended_at
FROM submission ORDER BY number DESC LIMIT %(limit)s
"""
_TALLY = """
SELECT job.app, job.state, count(*) FROM wants JOIN job ON job.id = wants.job
WHERE wants.submission = %(number)s GROUP BY job.app, job.state ORDER BY job.app, job.state
"""


class Status(Struct, frozen=True):
    """A submission as it stands. ``reason`` says why it was refused."""

    number: int
    id: str
    app: str
    state: SubmissionState
    reason: str | None
    key: str | None
    received_at: datetime
    ended_at: datetime | None


def status(tx: Tx, id: str) -> Status | None:
    found = tx.structs(Status, _STATUS, id=id)
    return found[0] if found else None


def recent(tx: Tx, limit: int) -> list[Status]:
    return tx.structs(Status, _RECENT, limit=limit)


def tally(tx: Tx, number: int) -> Mapping[str, Mapping[State, int]]:
    """How many of its jobs are in which state, by app."""
    counts: dict[str, dict[State, int]] = {}
    for app, state, count in tx.rows(_TALLY, number=number):
        counts.setdefault(app, {})[State(state)] = count
    return counts
