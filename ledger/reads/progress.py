"""Submissions and their present states."""

from datetime import datetime

from msgspec import Struct

from sluice.jobs.submission import SubmissionState
from sluice.ledger.connection import Tx
from sluice.ledger.requests import KEYS

# The request has the options as the submitter wrote them.
_COLUMNS = f"""
number, id, app, state, reason, request->>'key' AS key, {KEYS} AS keys,
received_at, ended_at, paused_at, request->>'start' AS start, request->>'end' AS end,
request->>'mode' AS mode, request->>'branch' AS branch
"""
_STATUS = f"SELECT {_COLUMNS} FROM submission WHERE id = %(id)s"
_RECENT = f"SELECT {_COLUMNS} FROM submission ORDER BY number DESC LIMIT %(limit)s"


class Status(Struct, frozen=True):
    """Present state of a submission. ``reason`` is why it was refused. ``key`` is None and ``keys`` is 0 if the app's
    definition determines the jobs."""

    number: int
    id: str
    app: str
    state: SubmissionState
    reason: str | None
    key: str | None
    keys: int
    received_at: datetime
    ended_at: datetime | None
    paused_at: datetime | None = None
    start: str | None = None
    end: str | None = None
    mode: str | None = None
    branch: str | None = None

    @property
    def is_open(self) -> bool:
        return self.state in (SubmissionState.RECEIVED, SubmissionState.ACTIVE)

    @property
    def is_paused(self) -> bool:
        """True if the submission is open and paused. An ended submission may have pushed jobs that are held back; that
        is shown by these jobs."""
        return self.is_open and self.paused_at is not None


def status(tx: Tx, id: str) -> Status | None:
    found = tx.structs(Status, _STATUS, id=id)
    return found[0] if found else None


def recent(tx: Tx, limit: int) -> list[Status]:
    return tx.structs(Status, _RECENT, limit=limit)
