"""Submissions that were taken in and wait to be planned: who holds them meanwhile, puts them off or refuses them.

Who races whom: planners. Each holds what it plans until its transaction ends. What it was told of it waits for; what
has piled up behind that it takes only where nobody else has it in hand.
"""

from collections.abc import Mapping

from msgspec import Struct

from jobs.submission import JSON, SubmissionState
from ledger.connection import Tx
from ledger.sql import NOW

#: For so long a submission may name an app that a planner's definitions are yet to hear of.
NEWS_S = 5.0
#: One that names more than so many is planned when its own turn comes.
FEW_KEYS = 20

_RECEIVED = f"""
SELECT number, id, request, received_at > {NOW} - make_interval(secs => {NEWS_S}) AS recent FROM submission
WHERE state = '{SubmissionState.RECEIVED}' AND paused_at IS NULL
"""
_HOLD = f"""
{_RECEIVED} AND id = ANY(%(ids)s) AND (%(anyway)s OR coalesce(look_at <= {NOW}, true)) ORDER BY number FOR UPDATE
"""
_HOLD_PILED_UP = f"""
WITH named AS MATERIALIZED ({_HOLD}), behind AS MATERIALIZED (
    {_RECEIVED} AND id <> ALL(%(ids)s) AND look_at IS NULL AND request -> 'keys' -> {FEW_KEYS} IS NULL
    AND received_at >= (SELECT min(received_at) FROM submission WHERE id = ANY(%(ids)s))
    ORDER BY received_at, number LIMIT %(room)s FOR UPDATE SKIP LOCKED
)
SELECT *, true AS named FROM named UNION ALL SELECT *, false FROM behind ORDER BY number
"""
_SET_ASIDE = f"""
UPDATE submission SET look_at = {NOW} + make_interval(secs => %(seconds)s) WHERE number = ANY(%(numbers)s)
"""
_WAIT = f"""
UPDATE submission SET sentinel = %(job)s, look_at = {NOW} + make_interval(secs => %(seconds)s), reason = %(reason)s
WHERE number = %(number)s AND state = '{SubmissionState.RECEIVED}'
"""
_REFUSE = f"""
UPDATE submission SET state = '{SubmissionState.REFUSED}', reason = %(reason)s, ended_at = {NOW}
WHERE number = %(number)s AND state = '{SubmissionState.RECEIVED}'
"""
_CALL_OFF = f"""
UPDATE submission SET state = '{SubmissionState.CANCELLED}', reason = %(reason)s, ended_at = {NOW}
WHERE number = %(number)s AND state = '{SubmissionState.RECEIVED}'
"""


class Received(Struct, frozen=True):
    """A submission that stands in the ledger and waits to be planned. One that came by SQL was read by nobody yet.
    It is ``named`` where somebody asked for it, and not only for what has piled up."""

    number: int
    id: str
    request: Mapping[str, JSON]
    recent: bool
    named: bool = True


def hold(tx: Tx, ids: list[str]) -> list[Received]:
    """Those of the submissions that are still to be planned and not paused, kept for this transaction; also those that
    somebody has set aside, for it is he who asks."""
    return tx.structs(Received, _HOLD, ids=ids, anyway=True)


def hold_piled_up(tx: Tx, ids: list[str], *, most: int) -> list[Received]:
    """Those that are named here and not set aside, and with them small ones that came later and were never put off, so
    many in all."""
    return tx.structs(Received, _HOLD_PILED_UP, ids=ids, room=max(most - len(ids), 0), anyway=False)


def set_aside(tx: Tx, numbers: list[int], *, for_s: float) -> None:
    """Whoever holds them goes on with them outside of this transaction, and nobody else meanwhile."""
    if numbers:
        tx.write(_SET_ASIDE, numbers=numbers, seconds=for_s)


def refuse(tx: Tx, number: int, reason: str) -> None:
    """Keep it with its reason; nothing of it will run."""
    tx.write(_REFUSE, number=number, reason=reason)


def wait(tx: Tx, number: int, *, job: int | None, reason: str, within_s: float) -> None:
    """Leave it unplanned until the job has ended, or, whatever becomes of that, for so long."""
    tx.write(_WAIT, number=number, job=job, reason=reason, seconds=within_s)


def call_off(tx: Tx, number: int, reason: str) -> None:
    """Cancel it before it is planned, for there is nothing to do."""
    tx.write(_CALL_OFF, number=number, reason=reason)
