"""Attempts at planning a submission. If the worker of an attempt has lost its lease, the submission killed its planner.

A worker records the submissions that it has been planning for a while. It uses separate transactions, so the rows
survive the transaction that plans. It removes them when the attempt ends in any way, so only a dead worker leaves rows.
Until its lease ends, the rows may also belong to a worker that is about to remove them.

Races: a planner reads the attempts at a submission while it holds the submission's row. So the attempts of other
workers have ended, unless their connection was lost. The groomer removes attempts at submissions that no longer wait to
be planned. A worker may record one after that, and removes it itself.

A crash leaves the rows of the dead worker, which are the evidence.
"""

from collections.abc import Collection, Sequence
from uuid import UUID

from msgspec import Struct

from sluice.jobs.model.submission import SubmissionState
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import NOW

#: The two keys of the advisory lock under which planners plan submissions that were attempted before, one at a time.
_TURN = (5_318_026, 0)

_KEEP = f"""
WITH ended AS (DELETE FROM plan_attempt WHERE worker = %(worker)s AND submission <> ALL(%(submissions)s::bigint[]))
INSERT INTO plan_attempt (submission, worker, since)
SELECT submission, %(worker)s, {NOW} FROM unnest(%(submissions)s::bigint[]) AS each (submission)
ON CONFLICT DO NOTHING
"""
_BY_OTHERS = f"""
SELECT submission, coalesce(host, '?') AS host, coalesce(pid, 0) AS pid, coalesce(lease_until < {NOW}, true) AS is_lost
FROM plan_attempt LEFT JOIN worker ON worker.id = plan_attempt.worker
WHERE submission = ANY(%(submissions)s) AND plan_attempt.worker IS DISTINCT FROM %(worker)s::uuid
ORDER BY since
"""
_FORGET = "DELETE FROM plan_attempt WHERE submission = %(submission)s"
_TAKE_TURN = f"SELECT pg_try_advisory_xact_lock({_TURN[0]}, {_TURN[1]})"
#: Query for the attempts that the groomer removes.
SETTLED = f"""
SELECT submission, worker FROM plan_attempt
WHERE (SELECT state FROM submission WHERE number = plan_attempt.submission) <> '{SubmissionState.RECEIVED}'
LIMIT %(limit)s
"""
_FORGET_SETTLED = f"""
WITH settled AS MATERIALIZED ({SETTLED} FOR UPDATE SKIP LOCKED)
DELETE FROM plan_attempt USING settled
WHERE plan_attempt.submission = settled.submission AND plan_attempt.worker = settled.worker
"""


class Attempt(Struct, frozen=True):
    """Attempt of another worker, which is planning the submission or died of it. ``is_lost``: the worker's lease has
    ended."""

    submission: int
    host: str
    pid: int
    is_lost: bool


def keep(tx: Tx, worker: UUID, submissions: Sequence[int]) -> None:
    """Set the submissions that this worker is planning. Attempts of the worker at other submissions are removed."""
    tx.write(_KEEP, worker=worker, submissions=[*submissions])


def by_others(tx: Tx, submissions: Collection[int], worker: UUID | None) -> list[Attempt]:
    """Return the attempts of other workers at these submissions, oldest first."""
    return tx.structs(Attempt, _BY_OTHERS, submissions=[*submissions], worker=worker)


def forget(tx: Tx, submission: int) -> None:
    """Remove all attempts at a refused submission, so that it may be submitted again under its id."""
    tx.write(_FORGET, submission=submission)


def forget_settled(tx: Tx, limit: int) -> int:
    """Remove attempts at submissions that no longer wait to be planned. Return how many were removed."""
    return tx.write(_FORGET_SETTLED, limit=limit)


def take_turn(tx: Tx) -> bool:
    """Return whether this transaction may plan a submission that was attempted before.

    Only one transaction in the whole installation does so at a time. Otherwise a submission that kills its planner
    would also fail the submissions planned at the same time, and these would be refused too.
    """
    return bool(tx.column(_TAKE_TURN)[0])
