"""Submissions that were taken in and wait to be planned: who holds them meanwhile, puts them off or refuses them.

Planners race. Each locks the submissions that it plans until its transaction ends, and skips those that another has
locked, so that a large plan does not delay others. It sends a message about those that it locked and did not plan.
"""

from msgspec import Struct

from sluice.jobs.submission import Refusal, SubmissionState
from sluice.ledger import plan_attempts, refusals
from sluice.ledger.connection import Tx
from sluice.ledger.requests import BODY
from sluice.ledger.sql import NOW

#: The most keys of a small submission. Any other one is planned alone, by a message of its own: one of 100,000 keys
#: took 59 s, in which no job could start that was planned in the same transaction.
FEW_KEYS = 20

#: Seconds after which a waiting submission may have ended a planner: 10, five times the delay of a lost message.
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
    """A submission that waits to be planned, locked by this transaction. ``again``: it was planned before, and is
    retried. ``attempted``: a worker has recorded an attempt at planning it (``plan_attempts``)."""

    number: int
    id: str
    again: bool
    attempted: bool


class Received(Held, frozen=True):
    """``body`` is the request as text (``requests.read``), which may be unreadable. One that is ``recent``
    came within the grace for unknown apps; one that is ``late`` came longer ago than ``LATE_S``. It is ``named`` if a
    message asks for it, and not only what piled up."""

    body: str | None
    recent: bool
    late: bool
    named: bool = True


def hold(tx: Tx, ids: list[str]) -> list[Held]:
    """Lock the submissions that are not planned yet and not paused.

    Those that were set aside are included, because the planner that set them aside continues with them.
    """
    return tx.structs(Held, _HOLD, ids=ids)


def take(tx: Tx, id: str) -> Held | None:
    """Lock one that is still to be planned and not paused. None also if another planner has locked it, or if it was
    attempted before and another planner has the turn of those."""
    held = tx.structs(Held, _TAKE, ids=[id])
    if not held or (held[0].attempted and not plan_attempts.take_turn(tx)):
        return None
    return held[0]


def hold_piled_up(tx: Tx, ids: list[str], *, most: int, grace_s: float) -> list[Received]:
    """Lock the submissions that are named and not set aside. If all of them are small and none was attempted before,
    also lock small ones that came later and were neither put off nor attempted; ``most`` in all."""
    room = max(most - len(ids), 0)
    return tx.structs(Received, _HOLD_PILED_UP, ids=ids, room=room, grace_s=grace_s)


def set_aside(tx: Tx, numbers: list[int], *, for_s: float, reason: str | None = None) -> None:
    """Have no planner look at them for so long: the one that holds them goes on with them outside of this transaction,
    or there is a ``reason`` why they cannot be planned yet."""
    if numbers:
        tx.write(_SET_ASIDE, numbers=numbers, seconds=for_s, reason=reason)


def refuse(tx: Tx, number: int, reason: str) -> None:
    """Keep it with its reason; nothing of it will run. It is counted and logged, and its id may be used again. One that
    was planned before has failed once more."""
    refusals.note(tx, [Refusal(*row) for row in tx.rows(_REFUSE, number=number, reason=reason)])


def wait(tx: Tx, number: int, *, job: int | None, reason: str, within_s: float) -> None:
    """Leave it unplanned until the job has ended, or, whatever becomes of that, for so long."""
    tx.write(_WAIT, number=number, job=job, reason=reason, seconds=within_s)


def call_off(tx: Tx, number: int, reason: str) -> None:
    """Cancel it before it is planned, for there is nothing to do."""
    tx.write(_CALL_OFF, number=number, reason=reason)
