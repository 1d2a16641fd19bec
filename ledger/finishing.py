"""Successes about which there is nothing to judge: recorded and judged in one step.

A round that did what it should has succeeded, unless the job had to end by a time, stands for data whose freshness or
partitions are to be noted, is a saga or undoes one, or goes on until it is stopped. Of those nothing is touched here:
they are recorded (``recording.record``), and whoever judges has the word.

What holds: the history has both steps, the executor's and the planner's, at the same moment, and nobody sees the job
between them. It has ended then, and this transaction holds it: it tells the children itself. The claim guards the write
as it guards a record; offered twice or too late, it changes nothing. A crash before the commit leaves the claim as it
was.
"""

from collections.abc import Mapping

from sluice.jobs.outcome import Ending, Outcome
from sluice.jobs.ref import Claim
from sluice.jobs.states import RECORD, SUCCEED, By
from sluice.ledger.breaker_news import SUCCEEDED, telling
from sluice.ledger.connection import Tx
from sluice.ledger.recording import HELD
from sluice.ledger.rounds import ENDED, close_rounds, of_rounds
from sluice.ledger.sql import Step, move

_UNCONTESTED = """
job.end_before IS NULL AND job.work_ids IS NULL AND job.place IS NULL AND job.undoes IS NULL
AND NOT job.flying AND NOT job.unbounded
"""
_SUCCEEDED = f"SELECT app, '{SUCCEEDED}' AS ending, NULL AS error, turn_back FROM moved"
_FINISH = move(
    RECORD,
    By.EXECUTOR,
    given=ENDED,
    condition=f"{HELD} AND {_UNCONTESTED}",
    sets="said = NULL, announcements = 0",
    forgets_work=True,
    returning="id, app, pool",
    then=Step(SUCCEED, By.PLANNER),
    also=f"closed AS ({close_rounds('held AS given')}), told AS ({telling(_SUCCEEDED)})",
)


def finish(tx: Tx, outcomes: Mapping[Claim, Outcome]) -> dict[int, str]:
    """Those of the jobs that have succeeded by this, each with its app."""
    done = {right: outcome for right, outcome in outcomes.items() if outcome.ending is Ending.DONE}
    if not done:
        return {}
    rows = tx.rows(_FINISH, **of_rounds(done))
    tx.pools.update(pool for _, _, pool in rows if pool is not None)
    return {id: app for id, app, _ in rows}
