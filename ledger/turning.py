"""Flights that are called off: the effects of a started saga are undone before it ends.

Invariants: a job that is ``flying`` is neither cancelled nor expired. It gets a ``turn_back`` instead. Its run notices
this at the next boundary between two steps, or when it resumes the flight. If the last step of the flight is done, it
is too late, and the job succeeds. A flight that is already being undone continues to be. The judgement of the flight's
end decides the state of the job.

Races: a cancellation against a run that is handed back or lost: in any state the job keeps its ``turn_back``, and the
next run reads it. Against the entry of the last step: see ``journal``. Against the end of a run that asked to wait, or
``end_before`` against a wait: see ``suspending``. If the job is requested again while it is undone, the judgement finds
the request, and the job starts again (``judging``). A crash leaves nothing.
"""

from sluice.jobs.sagas.turn_back import TurnBack
from sluice.jobs.states import STOPPABLE, By, sql_list
from sluice.ledger import suspending
from sluice.ledger.connection import Tx
from sluice.ledger.sql import NOW
from sluice.ledger.wishes import UNWANTED

_FLIES = f"CASE WHEN job.flying AND job.state IN ({sql_list(*sorted(STOPPABLE))}) THEN true END"
_CONDITIONS = {
    TurnBack.UNWANTED: UNWANTED,
    TurnBack.CANCELLED: "true",
    TurnBack.EXPIRED: f"job.end_before <= {NOW}",
}
# ``UNWANTED`` is the weakest reason, because it may cease to apply, so the other reasons overwrite it.
_TURN_BACK = {
    why: f"""
    WITH held AS MATERIALIZED (
        SELECT id FROM job
        WHERE id = ANY(%(jobs)s) AND {_FLIES} AND coalesce(turn_back = '{TurnBack.UNWANTED}', true) AND ({condition})
        ORDER BY id FOR UPDATE
    )
    UPDATE job SET turn_back = '{why}' FROM held WHERE job.id = held.id RETURNING job.id
    """
    for why, condition in _CONDITIONS.items()
}


def turn_back(tx: Tx, by: By, jobs: list[int], why: TurnBack) -> None:
    """Have the ``flying`` jobs among these undone. Suspended ones among them resume for that."""
    turned = tx.column(_TURN_BACK[why], jobs=jobs)
    suspending.resume_turned(tx, by, turned)
