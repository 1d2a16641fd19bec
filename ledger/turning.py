"""Flights that are called off: what a saga has begun is undone, and not dropped half done.

What holds: a job that flies is neither cancelled nor expired. It gets a ``turn_back`` instead, which its run hears at
the next boundary between two steps, or reads when it takes the flight up. A flight that had only to end has come too
far, and succeeds; one that goes back already goes on doing so. What follows from its end is for the judge to say.

Who races whom. A cancellation against a run that is handed back, or is lost: whatever state the job is in by
then, its ``turn_back`` is with it, and the next run reads it. Against the entry of the last do: see ``journal``.
Against the end of a run that asked to wait, or ``end_before`` against a wait: see ``suspending``. One who wants the job
anew while it is undone: the judge finds him, and it begins anew (``judging``). A crash leaves nothing.
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
# That nobody wants it is the weakest reason: it may pass.
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
    """Have those of the jobs undone that fly. Those that wait for an event wait no longer."""
    turned = tx.column(_TURN_BACK[why], jobs=jobs)
    suspending.resume_turned(tx, by, turned)
