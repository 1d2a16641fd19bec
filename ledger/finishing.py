"""Successes that need no judgement: recorded and judged in one step.

A round without an error is a success, with these exceptions: the job has an ``end_before``, is a chunk, makes
partitions, is a saga in flight or a compensation, or runs until it is stopped. Such jobs are left unchanged here. They
are recorded (``recording.record``), and the planner judges them.

Invariants: the history has both steps, that of the executor and that of the planner, at the same moment. No other
transaction sees the job between them. The job has ended then, and this transaction holds it and propagates its end. The
claim guards the write as it guards a record: an outcome that is offered twice or too late changes nothing. A crash
before the commit leaves the claim as it was.
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
    """Record and judge the outcomes that need no judgement; return the jobs that succeeded, each with its app."""
    done = {right: outcome for right, outcome in outcomes.items() if outcome.ending is Ending.DONE}
    if not done:
        return {}
    rows = tx.rows(_FINISH, **of_rounds(done))
    tx.pools.update(pool for _, _, pool in rows if pool is not None)
    return {id: app for id, app, _ in rows}
