"""Who waits lends his urgency: a parent is as urgent as the most urgent of those who wait for it, to any depth.

What holds once a plan has committed: whoever waits at closed gates has, in each parent that a need of his is open for
and that has not ended, one with at least his own priority and a deadline (``urgent_by``) no later than his own. Both
only ever grow more urgent. A child that is cancelled, or finds another way, does not take back what it lent: urgency
decides who goes first and never whether, and to lower it somebody would have to ask all others who wait.
A revived job keeps the priority that it had, and sets out with the deadline of its own terms.

Who races whom: two plans whose jobs lend to the same parents, and a plan against a verb that moves one of them. Each
turn locks in id order what it writes, but the turns go upwards and come late in the plan, which by then holds
its parents to read. So two plans that raise the same parent can wait for each other; Postgres ends one and
``Ledger.transact`` runs it again, to find the parent raised. Each turn is a statement of its own and
sees what others have committed meanwhile: a parent that came by parents of its own just now passes on to them.
"""

from collections.abc import Mapping

from sluice.jobs.states import TERMINAL, State, sql_list
from sluice.ledger.connection import Tx

_ENDED = sql_list(*sorted(TERMINAL))
# Both as a CASE, for the reason that ``sql.guard`` has: these jobs are found by their ids.
_WAITS = f"CASE WHEN child.state = '{State.WAITING}' THEN NOT child.open END"
_LIVES = f"CASE WHEN parent.state NOT IN ({_ENDED}) THEN true END"
_LENDS = "(child.priority > parent.priority OR child.urgent_by < coalesce(parent.urgent_by, 'infinity'))"

_SET_OUT = """
WITH held AS MATERIALIZED (
    SELECT job.id FROM job JOIN unnest(%(jobs)s::bigint[]) AS given (id) USING (id)
    WHERE job.end_before < coalesce(job.urgent_by, 'infinity') ORDER BY job.id FOR UPDATE OF job
)
UPDATE job SET urgent_by = least(job.urgent_by, job.end_before) FROM held WHERE job.id = held.id
"""
# A job that was only expected, or had ended, may have had children that waited for it before this plan.
_WAIT_ALREADY = f"""
SELECT DISTINCT child.id
FROM unnest(%(jobs)s::bigint[]) AS given (id)
JOIN need ON need.parent = given.id AND need.settled IS NULL
JOIN job child ON child.id = need.child JOIN job parent ON parent.id = given.id
WHERE NOT EXISTS (SELECT 1 FROM unnest(%(jobs)s::bigint[]) AS known (id) WHERE known.id = need.child)
  AND {_WAITS} AND {_LENDS}
"""
# Grouped by parent before the parents are looked at, so that one of a hundred thousand children is written once. A
# recursive statement could not group, and would carry every pair of a priority and a deadline up to every ancestor.
_RAISE = f"""
WITH lent AS (
    SELECT need.parent AS id, max(child.priority) AS priority, min(child.urgent_by) AS urgent_by
    FROM unnest(%(jobs)s::bigint[]) AS given (id) JOIN job child USING (id)
    JOIN need ON need.child = child.id AND need.settled IS NULL
    WHERE {_WAITS} GROUP BY need.parent
), held AS MATERIALIZED (
    SELECT parent.id, child.priority, child.urgent_by FROM job parent JOIN lent child USING (id)
    WHERE {_LIVES} AND {_LENDS} ORDER BY parent.id FOR UPDATE OF parent
)
UPDATE job SET priority = greatest(job.priority, held.priority), urgent_by = least(job.urgent_by, held.urgent_by)
FROM held WHERE job.id = held.id
RETURNING job.id
"""

# Of somebody else's submission that asks for a job which lives already, this alone counts.
_ASK = f"""
WITH held AS MATERIALIZED (
    SELECT job.id, given.priority FROM job
    JOIN unnest(%(jobs)s::bigint[], %(priorities)s::int[]) AS given (id, priority) USING (id)
    WHERE job.priority < given.priority AND job.state NOT IN ({_ENDED})
    ORDER BY job.id FOR UPDATE OF job
)
UPDATE job SET priority = held.priority FROM held WHERE job.id = held.id RETURNING job.id
"""


def ask(tx: Tx, priorities: Mapping[int, int]) -> list[int]:
    """Those of the living jobs that are asked for more urgently than before, and are as urgent now."""
    if not priorities:
        return []
    return tx.column(_ASK, jobs=list(priorities), priorities=list(priorities.values()))


def lend(tx: Tx, jobs: list[int]) -> None:
    """Have these jobs, which have just been set waiting under their own terms and counted, lend to their parents.

    Those who waited for one of them already lend to it again, for its own terms have replaced what they had lent.
    Each turn of the loop raises the parents of those whom the turn before raised, so it is bounded by the graph;
    where nobody is more urgent than his parents it writes nothing.
    """
    if not jobs:
        return
    tx.write(_SET_OUT, jobs=jobs)
    lenders = [*jobs, *tx.column(_WAIT_ALREADY, jobs=jobs)]
    while lenders:
        lenders = tx.column(_RAISE, jobs=lenders)
