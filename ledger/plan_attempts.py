"""Attempts at planning a submission. One whose worker has lost its lease has ended its planner.

A worker records the submissions that it has been planning for a while. It does so in transactions of its own, so the
rows outlive the one that plans, and it removes them when the attempt has ended in any way. So only a worker that died
leaves rows. Until its lease ends, the rows may also belong to a worker that is about to remove them.

Who races whom: a planner reads the attempts at a submission while it holds the submission's row, so the attempts of
others have ended, unless their connection was lost. The groomer removes attempts at submissions that no longer wait to
be planned; their worker may record one after that, and removes it itself.
What a crash leaves: the rows of the dead worker, which are the evidence.
"""

from collections.abc import Collection, Sequence
from uuid import UUID

from msgspec import Struct

from sluice.jobs.submission import SubmissionState
from sluice.ledger.connection import Tx
from sluice.ledger.sql import NOW

#: The first and second number of the lock by which planners take turns at submissions that were attempted before.
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
#: The groomer looks for these.
SETTLED = f"""
SELECT submission, worker FROM plan_attempt
WHERE (SELECT state FROM submission WHERE number = plan_attempt.submission) <> '{SubmissionState.RECEIVED}'
LIMIT %(limit)s
"""
_FORGET_SETTLED = f"""
DELETE FROM plan_attempt WHERE (submission, worker) IN ({SETTLED} FOR UPDATE SKIP LOCKED)
"""


class Attempt(Struct, frozen=True):
    """An attempt of another worker, which is at it or died of it. ``is_lost``: the worker's lease has ended."""

    submission: int
    host: str
    pid: int
    is_lost: bool


def keep(tx: Tx, worker: UUID, submissions: Sequence[int]) -> None:
    """Make these the submissions that the worker is planning."""
    tx.write(_KEEP, worker=worker, submissions=[*submissions])


def by_others(tx: Tx, submissions: Collection[int], worker: UUID | None) -> list[Attempt]:
    """Return the attempts at these submissions, except those of this worker; the oldest first."""
    return tx.structs(Attempt, _BY_OTHERS, submissions=[*submissions], worker=worker)


def forget(tx: Tx, submission: int) -> None:
    """Remove all attempts at a submission that is refused, so that it may be submitted again under its id."""
    tx.write(_FORGET, submission=submission)


def forget_settled(tx: Tx, limit: int) -> int:
    """Remove attempts at submissions that do not wait to be planned; return how many there were."""
    return tx.write(_FORGET_SETTLED, limit=limit)


def take_turn(tx: Tx) -> bool:
    """Return whether this transaction may plan a submission that was attempted before.

    Only one does at a time, in the whole installation. Otherwise the submission that ends its planner would take
    others with it each time, and they would be refused too.
    """
    return bool(tx.column(_TAKE_TURN)[0])
