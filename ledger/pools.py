"""Admission: who of those that stand in line for a pool gets a slot of it.

A job of a pool that may run is ``queued``: it waits, and is out of everybody's sight but this module's. A slot is a
job that is ready or running, nothing else, so none can be lost. A transaction that has lined somebody up, or has taken
a slot from somebody, notes the pool, and lets others in as the last it does (``admit``).

What holds: no job is let in while as many of its pool are dispatched as it may be one of, by the limit that it was
planned with. The most urgent comes first, then who was due first; one that may not be let in keeps nobody waiting
behind it whose limit is higher.

Who races whom: two that let jobs into one pool. They take turns, and each counts in a statement after it got its turn,
so the second counts whom the first let in. One that frees a slot against one that finds none: whoever comes second sees
what the other has committed, be it the free slot or the job in line. A turn is the last lock that a transaction waits
for, and the rows that others hold it passes over; so whoever has a turn waits for nobody. A row that was passed over is
the groomer's to let in, who looks where there is both a free slot and a job in line. What a crash leaves: nothing.
"""

from collections.abc import Iterator, Sequence

from sluice.jobs.states import DISPATCHED, RELEASE, By, sql_list
from sluice.ledger.app_pauses import HAS_TO_WAIT
from sluice.ledger.connection import Tx
from sluice.ledger.driver import Row
from sluice.ledger.release import ANNOUNCED, MAY_RUN, READY_COLUMNS, UNEXPIRED, Ready
from sluice.ledger.sql import DUE, IN_TURN, move

#: Marks these locks among others of the same database.
_TURNS = 5_318_012
#: A transaction takes no more of them than this, in however many pools it lets jobs in.
_TURNS_MAX = 256
_DISPATCHED = sql_list(*sorted(DISPATCHED))

# In the order of the locks, not of the names: two names may have one lock.
_TAKE_TURNS = f"""
SELECT pg_advisory_xact_lock({_TURNS}, turn) FROM (
    SELECT DISTINCT hashtext(pool) & {_TURNS_MAX - 1} AS turn FROM unnest(%(pools)s::text[]) AS given (pool)
    ORDER BY turn) turns
"""
# Along the index job_queue, a piece of it for each limit that there is in a pool: mostly that is one.
_NEXT = f"""
WITH RECURSIVE line (pool, pool_limit) AS (
    SELECT given.pool, (SELECT min(pool_limit) FROM job WHERE queued AND job.pool = given.pool)
    FROM unnest(%(pools)s::text[]) AS given (pool)
    UNION ALL
    SELECT line.pool,
           (SELECT min(pool_limit) FROM job WHERE queued AND job.pool = line.pool AND job.pool_limit > line.pool_limit)
    FROM line WHERE line.pool_limit IS NOT NULL
), counted AS MATERIALIZED (
    SELECT pool, (SELECT count(*) FROM job WHERE job.pool = given.pool AND state IN ({_DISPATCHED})) AS taken
    FROM unnest(%(pools)s::text[]) AS given (pool)
)
SELECT next.id, line.pool, line.pool_limit, counted.taken FROM line JOIN counted USING (pool) CROSS JOIN LATERAL (
    SELECT id, priority, urgent_by, {DUE} AS due_at FROM job
    WHERE queued AND job.pool = line.pool AND job.pool_limit = line.pool_limit
      AND {UNEXPIRED} AND NOT {HAS_TO_WAIT}
    ORDER BY {IN_TURN}
    LIMIT greatest(line.pool_limit - counted.taken, 0) FOR UPDATE SKIP LOCKED
) next
WHERE line.pool_limit IS NOT NULL
ORDER BY -next.priority, coalesce(next.urgent_by, 'infinity'), next.due_at, next.id
"""
_ADMIT = {
    by: move(RELEASE, by, condition=f"job.queued AND {MAY_RUN}", sets=ANNOUNCED, returning=READY_COLUMNS)
    for by in sorted(RELEASE.by)
}
#: Pools with a slot for somebody in their line. From one to the next along the index, however long the lines are.
FREE = f"""
WITH RECURSIVE line (pool, pool_limit) AS (
    (SELECT pool, pool_limit FROM job WHERE queued ORDER BY pool, pool_limit LIMIT 1)
    UNION ALL
    SELECT next.* FROM line CROSS JOIN LATERAL (
        SELECT pool, pool_limit FROM job WHERE queued AND (job.pool, job.pool_limit) > (line.pool, line.pool_limit)
        ORDER BY pool, pool_limit LIMIT 1) next
)
SELECT pool FROM line WHERE pool_limit > (
    SELECT count(*) FROM (
        SELECT 1 FROM job WHERE job.pool = line.pool AND state IN ({_DISPATCHED}) LIMIT line.pool_limit) taken)
LIMIT %(limit)s
"""


def admit(tx: Tx, by: By) -> list[Ready]:
    """Let jobs into the pools that this transaction has noted, as its last step; those that are ready by that."""
    if not tx.pools:
        return []
    pools = sorted(tx.pools)
    tx.pools.clear()
    tx.rows(_TAKE_TURNS, pools=pools)
    admitted = [*_admitted(tx.rows(_NEXT, pools=pools))]
    return [Ready(*row) for row in tx.rows(_ADMIT[by], jobs=admitted)] if admitted else []


def look(tx: Tx, limit: int) -> None:
    """Note pools that somebody could have been let into."""
    tx.pools.update(tx.column(FREE, limit=limit))


def _admitted(candidates: Sequence[Row]) -> Iterator[int]:
    """Of the next in line, by urgency, those for whom there is a slot by their own limit."""
    taken: dict[str, int] = {}
    for id, pool, limit, before in candidates:
        if (now := taken.setdefault(pool, before)) < limit:
            taken[pool] = now + 1
            yield id
