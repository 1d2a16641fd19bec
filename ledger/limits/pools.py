"""Admission to pools: which of the waiting jobs get a free slot, and a token if their app has a rate limit.

A job of a pool that may run is ``waiting_for_slot``: it waits for a slot, and only this module releases it. A slot is
not a record: each job that is ready or running occupies one, so no slot can be lost. A transaction that queues a job,
or takes a slot from one, notes the pool. As its last step it admits other jobs (``admit``).

Invariants: no job is admitted while the number of ready and running jobs of its pool has reached the limit that it was
planned with. No job is admitted while its bucket has no token left (``ledger.limits.rate_limits``). The most urgent job
is admitted first, then the job that was due first. A job over its limit, or without a token, does not block a job
behind it that has a higher limit, or another bucket.

Races: transactions that admit jobs to one pool take its advisory lock in turn. Each counts in a statement after it has
the lock, so the second one counts the jobs that the first one admitted. If one transaction frees a slot while another
finds none, the later one sees the committed change of the earlier one: the free slot or the waiting job.

A bucket may have jobs in several pools, so its lock is taken with those of the pools. A bucket that first has a job in
a pool after these locks were taken is left to the transaction that queued that job.

The advisory locks are the last locks that a transaction waits for, and locked rows are skipped. So their holder waits
for no other transaction. The groomer admits the jobs that were skipped: it searches for pools with a free slot and a
job that waits. A crash leaves nothing.
"""

from collections.abc import Iterator, Sequence

from sluice.jobs.states import DISPATCHED, MAKE_READY, By, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.driver import Row
from sluice.ledger.database.transitions import BUCKET, DUE, IN_TURN, move
from sluice.ledger.job_graph.readiness import ANNOUNCED, MAY_RUN, READY_COLUMNS, UNEXPIRED, ReadyJob
from sluice.ledger.limits import rate_limits
from sluice.ledger.limits.app_pauses import HAS_TO_WAIT
from sluice.ledger.limits.rate_limits import tokens

#: First key of the advisory locks by pool; it distinguishes them from other locks in the same database.
_TURNS = 5_318_012
#: Most of these locks that one transaction takes, however many pools it admits jobs to.
_TURNS_MAX = 256
_DISPATCHED = sql_list(*sorted(DISPATCHED))

# A range of the index ``job_slot_queue`` for each limit and bucket that occurs in a pool: mostly one. Steps along the
# index from range to range, however many jobs wait.
_LINES = f"""
line (pool, pool_limit, bucket) AS (
    SELECT given.pool, first.* FROM unnest(%(pools)s::text[]) AS given (pool) CROSS JOIN LATERAL (
        SELECT pool_limit, {BUCKET} FROM job WHERE waiting_for_slot AND job.pool = given.pool
        ORDER BY pool_limit, {BUCKET} LIMIT 1) first
    UNION ALL
    SELECT line.pool, next.* FROM line CROSS JOIN LATERAL (
        SELECT pool_limit, {BUCKET} FROM job WHERE waiting_for_slot AND job.pool = line.pool
            AND (job.pool_limit, {BUCKET}) > (line.pool_limit, line.bucket)
        ORDER BY pool_limit, {BUCKET} LIMIT 1) next
)
"""
# In the order of the lock numbers and not of the names, because two names may share a lock.
_TAKE_TURNS = f"""
WITH RECURSIVE {_LINES}, named (name, bucket) AS MATERIALIZED (
    SELECT pool, NULL FROM unnest(%(pools)s::text[]) AS given (pool)
    UNION
    SELECT 'rate ' || bucket, bucket FROM line WHERE bucket <> ''
)
SELECT buckets, pg_advisory_xact_lock({_TURNS}, turn) FROM (
    SELECT hashtext(name) & {_TURNS_MAX - 1} AS turn, array_remove(array_agg(bucket), NULL) AS buckets
    FROM named GROUP BY turn ORDER BY turn) turns
"""
_NEXT = f"""
WITH RECURSIVE {_LINES}, counted AS MATERIALIZED (
    SELECT pool, (SELECT count(*) FROM job WHERE job.pool = given.pool AND state IN ({_DISPATCHED})) AS taken
    FROM unnest(%(pools)s::text[]) AS given (pool)
), filled AS MATERIALIZED (
    SELECT bucket, {tokens("given.bucket")} AS tokens FROM unnest(%(buckets)s::text[]) AS given (bucket)
    UNION ALL SELECT '', NULL
)
SELECT next.id, line.pool, line.pool_limit, counted.taken, line.bucket, filled.tokens
FROM line JOIN counted USING (pool) JOIN filled USING (bucket) CROSS JOIN LATERAL (
    SELECT id, priority, effective_deadline, {DUE} AS due_at FROM job
    WHERE waiting_for_slot AND job.pool = line.pool AND job.pool_limit = line.pool_limit AND {BUCKET} = line.bucket
      AND {UNEXPIRED} AND NOT {HAS_TO_WAIT}
    ORDER BY {IN_TURN}
    LIMIT greatest(least(line.pool_limit - counted.taken, filled.tokens), 0) FOR UPDATE SKIP LOCKED
) next
ORDER BY -next.priority, coalesce(next.effective_deadline, 'infinity'), next.due_at, next.id
"""
_ADMIT = {
    by: move(
        MAKE_READY,
        by,
        condition=f"job.waiting_for_slot AND {MAY_RUN}",
        sets=ANNOUNCED,
        returning=READY_COLUMNS,
    )
    for by in sorted(MAKE_READY.by)
}
#: Pools with both a free slot and a job that waits for one, and a token for that job. Skips from pool to pool along the
#: index, however many jobs wait.
FREE = f"""
WITH RECURSIVE line (pool, pool_limit, bucket) AS (
    (SELECT pool, pool_limit, {BUCKET} FROM job WHERE waiting_for_slot ORDER BY pool, pool_limit, {BUCKET} LIMIT 1)
    UNION ALL
    SELECT next.* FROM line CROSS JOIN LATERAL (
        SELECT pool, pool_limit, {BUCKET} FROM job WHERE waiting_for_slot
            AND (job.pool, job.pool_limit, {BUCKET}) > (line.pool, line.pool_limit, line.bucket)
        ORDER BY pool, pool_limit, {BUCKET} LIMIT 1) next
)
SELECT pool FROM line WHERE pool_limit > (
    SELECT count(*) FROM (
        SELECT 1 FROM job WHERE job.pool = line.pool AND state IN ({_DISPATCHED}) LIMIT line.pool_limit) taken)
    AND (bucket = '' OR coalesce({tokens("line.bucket")}, 1) > 0)
LIMIT %(limit)s
"""


def admit(tx: Tx, by: By) -> list[ReadyJob]:
    """Admit jobs to the pools that this transaction has noted, as its last step. Return the jobs that are now ready."""
    if not tx.pools:
        return []
    pools = sorted(tx.pools)
    tx.pools.clear()
    buckets = sorted({bucket for found, _ in tx.rows(_TAKE_TURNS, pools=pools) for bucket in found})
    rate_limits.fold(tx, buckets)
    admitted = [*_admitted(tx.rows(_NEXT, pools=pools, buckets=buckets))]
    return [ReadyJob(*row) for row in tx.rows(_ADMIT[by], jobs=admitted)] if admitted else []


def find_free(tx: Tx, limit: int) -> None:
    """Note at most ``limit`` pools that have both a free slot and a job that waits for one, and a token for it."""
    tx.pools.update(tx.column(FREE, limit=limit))


def _admitted(candidates: Sequence[Row]) -> Iterator[int]:
    """Yield the candidates, sorted by urgency, that find a free slot under their own limit, and a token."""
    taken: dict[str, int] = {}
    tokens_left: dict[str, int] = {}
    for id, pool, limit, before, bucket, tokens_before in candidates:
        left = tokens_left.setdefault(bucket, tokens_before) if tokens_before is not None else 1
        if (now := taken.setdefault(pool, before)) < limit and left > 0:
            taken[pool] = now + 1
            tokens_left[bucket] = left - 1
            yield id
