"""Submissions that were received and wait to be planned: lock them, delay them, or refuse them.

Planners race. Each locks the submissions that it plans until its transaction ends, and skips locked submissions, so
that a large plan does not delay others. It sends a message about submissions that it locked and did not plan.
"""

from msgspec import Struct

from sluice.jobs.submission import Refusal, SubmissionState
from sluice.ledger import plan_attempts, refusals
from sluice.ledger.connection import Tx
from sluice.ledger.requests import BODY
from sluice.ledger.sql import NOW

#: Most keys of a small submission. Any other submission is planned alone, by a message of its own: one with 100,000
#: keys took 59 s, in which no job planned in the same transaction could start.
FEW_KEYS = 20

#: Seconds after which a waiting submission may have killed a planner: 10, five times the delay of a lost message.
LATE_S = 10.0

_WAITING = f"FROM submission WHERE state = '{SubmissionState.RECEIVED}' AND paused_at IS NULL"
_ATTEMPTED = "EXISTS (SELECT 1 FROM plan_attempt WHERE plan_attempt.submission = submission.number)"
_COLUMNS = f"number, id, planned_at IS NOT NULL AS again, {_ATTEMPTED} AS attempted"
_HOLD = f"SELECT {_COLUMNS} {_WAITING} AND id = ANY(%(ids)s) ORDER BY number FOR UPDATE"
_TAKE = f"{_HOLD} SKIP LOCKED"
_RECEIVED = f"""
SELECT {_COLUMNS}, {BODY} AS body,
       received_at > {NOW} - make_interval(secs => %(grace_s)s) AS recent,
       received_at < {NOW} - make_interval(secs => {LATE_S}) AS late {_WAITING}
"""
_IS_LARGE = f"""
request ->> 'key' IS NULL AND (request -> 'keys' -> 0 IS NULL OR request -> 'keys' -> {FEW_KEYS} IS NOT NULL)
"""
_HOLD_PILED_UP = f"""
WITH named AS MATERIALIZED (
    {_RECEIVED} AND id = ANY(%(ids)s) AND coalesce(look_at <= {NOW}, true)
    ORDER BY number FOR UPDATE SKIP LOCKED
), behind AS MATERIALIZED (
    {_RECEIVED} AND id <> ALL(%(ids)s) AND look_at IS NULL AND request -> 'keys' -> {FEW_KEYS} IS NULL
    AND received_at >= (SELECT min(received_at) FROM submission WHERE id = ANY(%(ids)s))
    AND NOT EXISTS (SELECT 1 FROM submission WHERE id = ANY(%(ids)s) AND {_IS_LARGE})
    AND NOT {_ATTEMPTED} AND NOT EXISTS (SELECT 1 FROM named WHERE attempted)
    ORDER BY received_at, number LIMIT %(room)s FOR UPDATE SKIP LOCKED
)
SELECT *, true AS named FROM named UNION ALL SELECT *, false FROM behind ORDER BY number
"""
_SET_ASIDE = f"""
UPDATE submission SET look_at = {NOW} + make_interval(secs => %(seconds)s), reason = %(reason)s
WHERE number = ANY(%(numbers)s)
"""
_WAIT = f"""
UPDATE submission SET sentinel = %(job)s, look_at = {NOW} + make_interval(secs => %(seconds)s), reason = %(reason)s
WHERE number = %(number)s AND state = '{SubmissionState.RECEIVED}'
"""
_REFUSE = f"""
UPDATE submission SET reason = %(reason)s, ended_at = {NOW},
    state = CASE WHEN planned_at IS NULL THEN '{SubmissionState.REFUSED}' ELSE '{SubmissionState.FAILED}' END
WHERE number = %(number)s AND state = '{SubmissionState.RECEIVED}'
RETURNING id, app, reason
"""
_CALL_OFF = f"""
UPDATE submission SET state = '{SubmissionState.CANCELLED}', reason = %(reason)s, ended_at = {NOW}
WHERE number = %(number)s AND state = '{SubmissionState.RECEIVED}'
"""


class Held(Struct, frozen=True):
    """Submission that waits to be planned, locked by this transaction.

    ``again``: it was planned before, and is retried. ``attempted``: a worker has recorded an attempt at planning it
    (``plan_attempts``).
    """

    number: int
    id: str
    again: bool
    attempted: bool


class Received(Held, frozen=True):
    """Submission that waits to be planned, with its request.

    ``body`` is the request as text (``requests.read``), which may be unreadable. A ``recent`` submission came within
    the grace period for unknown apps, a ``late`` one more than ``LATE_S`` ago. It is ``named`` if a message names it,
    and not if it only piled up behind named ones.
    """

    body: str | None
    recent: bool
    late: bool
    named: bool = True


def hold(tx: Tx, ids: list[str]) -> list[Held]:
    """Lock the submissions that are not planned yet and not paused.

    Submissions that were set aside are included, because the planner that set them aside continues with them.
    """
    return tx.structs(Held, _HOLD, ids=ids)


def take(tx: Tx, id: str) -> Held | None:
    """Lock a submission that is still to be planned and not paused. None if there is no such submission.

    Also None if another planner has locked it, or if it was attempted before and another planner holds the lock for
    such submissions.
    """
    held = tx.structs(Held, _TAKE, ids=[id])
    if not held or (held[0].attempted and not plan_attempts.take_turn(tx)):
        return None
    return held[0]


def hold_piled_up(tx: Tx, ids: list[str], *, most: int, grace_s: float) -> list[Received]:
    """Lock the named submissions that are not set aside, and small ones behind them; ``most`` in all.

    Later submissions are included only if all named ones are small and none was attempted before. They must be small
    too, and neither delayed nor attempted.
    """
    room = max(most - len(ids), 0)
    return tx.structs(Received, _HOLD_PILED_UP, ids=ids, room=room, grace_s=grace_s)


def set_aside(tx: Tx, numbers: list[int], *, for_s: float, reason: str | None = None) -> None:
    """Keep planners from these submissions for ``for_s`` seconds. Either the caller continues with them outside of this
    transaction, or ``reason`` is why they cannot be planned yet."""
    if numbers:
        tx.write(_SET_ASIDE, numbers=numbers, seconds=for_s, reason=reason)


def refuse(tx: Tx, number: int, reason: str) -> None:
    """Refuse a submission and keep it with its reason. No job of it will run, and its id may be used again. The refusal
    is counted and logged. A submission that was planned before becomes ``failed`` again."""
    refusals.note(tx, [Refusal(*row) for row in tx.rows(_REFUSE, number=number, reason=reason)])


def wait(tx: Tx, number: int, *, job: int | None, reason: str, within_s: float) -> None:
    """Leave a submission unplanned until the job has ended, or for ``within_s`` seconds, whichever is first."""
    tx.write(_WAIT, number=number, job=job, reason=reason, seconds=within_s)


def call_off(tx: Tx, number: int, reason: str) -> None:
    """Cancel a submission before it is planned, because it has no work."""
    tx.write(_CALL_OFF, number=number, reason=reason)
