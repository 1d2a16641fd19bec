"""Urgency: a waiting job lends its priority and deadline to its parents, to any depth.

Invariant after the commit of a plan: consider a job that waits at closed gates, and a parent of it that has not ended
and for which it has an open need. The parent has at least the job's priority, and a deadline (``effective_deadline``)
no later than the job's. Both only ever become more urgent. A child that is cancelled or finds another way does not take
back the urgency that it lent. Urgency decides only the order of jobs, and lowering it would require reading all other
waiting children. A rerun job keeps its priority, and its deadline is that of its own terms again.

Races: two plans with jobs that lend to the same parents, and a plan against a verb that moves such a parent. A plan
locks its less urgent jobs FOR UPDATE from the start, and each pass locks its rows in id order. But the passes go
upstream. So two transactions can deadlock over jobs that the plan does not name. Postgres then aborts one of them, and
``Ledger.transact`` runs it again. Each pass is a separate statement and sees changes that were committed in between: a
parent that has just got parents of its own passes its urgency on to them.
"""

from collections.abc import Mapping

from sluice.jobs.states import TERMINAL, State, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import IDS, estimated_as_one

_ENDED = sql_list(*sorted(TERMINAL))
# Both are a CASE, so that no partial index answers them (see ``transitions.guard``): these jobs are found by their ids.
_WAITS = f"CASE WHEN child.state = '{State.WAITING}' THEN NOT child.unblocked END"
_LIVES = f"CASE WHEN parent.state NOT IN ({_ENDED}) THEN true END"
_LENDS = """
(child.priority > parent.priority OR child.effective_deadline < coalesce(parent.effective_deadline, 'infinity'))
"""

_SET_OUT = f"""
WITH held AS MATERIALIZED (
    SELECT job.id FROM job JOIN {estimated_as_one(IDS)} USING (id)
    WHERE job.end_before < coalesce(job.effective_deadline, 'infinity') ORDER BY job.id FOR UPDATE OF job
)
UPDATE job SET effective_deadline = least(job.effective_deadline, job.end_before) FROM held WHERE job.id = held.id
"""
# A job that was only expected, or had ended, may have had waiting children before this plan.
_WAIT_ALREADY = f"""
SELECT DISTINCT child.id
FROM {estimated_as_one(IDS)}
JOIN need ON need.parent = given.id AND need.met IS NULL
JOIN job child ON child.id = need.child JOIN job parent ON parent.id = given.id
WHERE NOT EXISTS (SELECT 1 FROM unnest(%(jobs)s::bigint[]) AS known (id) WHERE known.id = need.child)
  AND {_WAITS} AND {_LENDS}
"""
# Grouped by parent before the parents are read, so that a parent of 100,000 children is written once. A recursive
# statement could not group, and would carry every pair of priority and deadline up to every ancestor.
_RAISE = f"""
WITH lent AS (
    SELECT need.parent AS id, max(child.priority) AS priority, min(child.effective_deadline) AS effective_deadline
    FROM {estimated_as_one(IDS)} JOIN job child USING (id)
    JOIN need ON need.child = child.id AND need.met IS NULL
    WHERE {_WAITS} GROUP BY need.parent
), held AS MATERIALIZED (
    SELECT parent.id, child.priority, child.effective_deadline FROM job parent JOIN lent child USING (id)
    WHERE {_LIVES} AND {_LENDS} ORDER BY parent.id FOR UPDATE OF parent
)
UPDATE job SET priority = greatest(job.priority, held.priority),
    effective_deadline = least(job.effective_deadline, held.effective_deadline)
FROM held WHERE job.id = held.id
RETURNING job.id
"""

# From a submission that requests an existing live job, only the priority counts.
_ASK = f"""
WITH held AS MATERIALIZED (
    SELECT job.id, given.priority FROM job
    JOIN {estimated_as_one("unnest(%(jobs)s::bigint[], %(priorities)s::int[]) AS given (id, priority)")} USING (id)
    WHERE job.priority < given.priority AND job.state NOT IN ({_ENDED})
    ORDER BY job.id FOR UPDATE OF job
)
UPDATE job SET priority = held.priority FROM held WHERE job.id = held.id RETURNING job.id
"""


def raise_to(tx: Tx, priorities: Mapping[int, int]) -> list[int]:
    """Raise the priority of live jobs that are requested with a higher one. Return the raised jobs."""
    if not priorities:
        return []
    return tx.column(_ASK, jobs=list(priorities), priorities=list(priorities.values()))


def lend(tx: Tx, jobs: list[int]) -> None:
    """Let these jobs lend to their parents. They have just been set waiting under their own terms, and counted.

    Their earlier waiting children lend to them again, because their own terms have replaced the lent ones. Each pass
    raises the parents of the jobs that the previous pass raised, so the number of passes is bounded by the graph. If no
    job is more urgent than its parents, nothing is written.
    """
    if not jobs:
        return
    tx.write(_SET_OUT, jobs=jobs)
    lenders = [*jobs, *tx.column(_WAIT_ALREADY, jobs=jobs)]
    while lenders:
        lenders = tx.column(_RAISE, jobs=lenders)
