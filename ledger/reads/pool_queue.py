"""Pools and rate limits: the jobs that have slots, and the jobs that wait for a slot or a token."""

from datetime import datetime

from msgspec import Struct

from sluice.jobs.model.names import JobName
from sluice.jobs.states import DISPATCHED, State, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import IN_TURN
from sluice.ledger.limits.rate_limits import app_of, next_at, tokens

#: Maximum number of waiting jobs, and of taken slots, that are counted.
COUNTED_MAX = 1000
#: Maximum number of listed jobs that have a slot.
TOLD_MAX = 20
#: Maximum number of listed pools with waiting jobs, and of listed slots for each.
POOLS_MAX = 20
SLOTS_MAX = 5
#: Maximum number of pools that the metrics count.
METRICS_MAX = 200

_DISPATCHED = sql_list(*sorted(DISPATCHED))
_AHEAD = f"""
SELECT count(*) FROM (
    SELECT 1 FROM job WHERE waiting_for_slot AND job.pool = %(pool)s
      AND ({IN_TURN}) < (SELECT {IN_TURN} FROM job WHERE job.id = %(job)s) LIMIT %(limit)s) ahead
"""
_TAKEN = f"""
SELECT count(*) FROM (
    SELECT 1 FROM job WHERE job.pool = %(pool)s AND job.state IN ({_DISPATCHED}) LIMIT %(limit)s) taken
"""
_HOLDERS = f"""
SELECT job.app, job.key, job.state, job.changed_at AS since, worker.host, worker.pid
FROM job LEFT JOIN worker ON worker.id = job.worker
WHERE job.pool = %(pool)s AND job.state IN ({_DISPATCHED}) ORDER BY job.changed_at, job.id LIMIT %(limit)s
"""
# No row if the app has no rate limit any more.
_RATE = f"""
SELECT limited.apart_s, limited.burst, {tokens("%(bucket)s::text")} AS tokens, {next_at("%(bucket)s::text")} AS next_at,
       (SELECT count(*) FROM (
            SELECT 1 FROM job WHERE waiting_for_slot AND NOT saga_open AND job.rate_bucket = %(bucket)s
              AND ({IN_TURN}) < (SELECT {IN_TURN} FROM job WHERE job.id = %(job)s) LIMIT %(limit)s) before) AS ahead
FROM rate_limit AS limited WHERE limited.app = {app_of("%(bucket)s::text")}
"""
# Steps from pool to pool along the index ``job_slot_queue``, however many jobs wait.
_POOLS = """
WITH RECURSIVE line (pool) AS (
    (SELECT pool FROM job WHERE waiting_for_slot ORDER BY pool LIMIT 1)
    UNION ALL
    SELECT next.pool FROM line CROSS JOIN LATERAL (
        SELECT pool FROM job WHERE waiting_for_slot AND job.pool > line.pool ORDER BY pool LIMIT 1) next
)
SELECT pool FROM line LIMIT %(limit)s
"""
# Steps from pool to pool along ``job_slot`` and ``job_slot_queue``, for any number of jobs with slots or in the queue.
_USED_POOLS = f"""
WITH RECURSIVE line (pool) AS (
    (SELECT pool FROM job WHERE pool IS NOT NULL AND state IN ({_DISPATCHED}) ORDER BY pool LIMIT 1)
    UNION ALL
    SELECT next.pool FROM line CROSS JOIN LATERAL (
        SELECT pool FROM job WHERE pool IS NOT NULL AND state IN ({_DISPATCHED}) AND job.pool > line.pool
        ORDER BY pool LIMIT 1) next
)
SELECT pool FROM line LIMIT %(limit)s
"""
_COUNTS = f"""
SELECT given.pool,
    (SELECT count(*) FROM (
        SELECT 1 FROM job WHERE job.pool = given.pool AND job.state IN ({_DISPATCHED}) LIMIT %(limit)s) taken) AS taken,
    (SELECT count(*) FROM (
        SELECT 1 FROM job WHERE waiting_for_slot AND job.pool = given.pool LIMIT %(limit)s) behind) AS behind,
    coalesce(
        (SELECT max(pool_limit) FROM job WHERE waiting_for_slot AND job.pool = given.pool),
        (SELECT pool_limit FROM job WHERE job.pool = given.pool AND job.state IN ({_DISPATCHED}) LIMIT 1)) AS slots
FROM unnest(%(pools)s::text[]) AS given (pool)
"""
# A pool may have lost its waiting jobs since it was found.
_LINED_UP = f"""
SELECT pool, limit_min, limit_max, behind, taken FROM (
    SELECT given.pool, place,
    (SELECT min(pool_limit) FROM job WHERE waiting_for_slot AND job.pool = given.pool) AS limit_min,
    (SELECT max(pool_limit) FROM job WHERE waiting_for_slot AND job.pool = given.pool) AS limit_max,
    (SELECT count(*) FROM (
        SELECT 1 FROM job WHERE waiting_for_slot AND job.pool = given.pool LIMIT %(limit)s) behind) AS behind,
    (SELECT count(*) FROM (
        SELECT 1 FROM job WHERE job.pool = given.pool AND state IN ({_DISPATCHED}) LIMIT %(limit)s) taken) AS taken
    FROM unnest(%(pools)s::text[]) WITH ORDINALITY AS given (pool, place)) lined_up
WHERE behind > 0 ORDER BY place
"""
_SLOTS = f"""
SELECT given.pool, holder.* FROM unnest(%(pools)s::text[]) WITH ORDINALITY AS given (pool, place) CROSS JOIN LATERAL (
    SELECT job.app, job.key, job.state, job.changed_at AS since, worker.host, worker.pid
    FROM job LEFT JOIN worker ON worker.id = job.worker
    WHERE job.pool = given.pool AND job.state IN ({_DISPATCHED}) ORDER BY job.changed_at, job.id LIMIT %(limit)s
) holder
ORDER BY place, since
"""
_KEPT_BUSY = f"""
SELECT DISTINCT worker::text, pool FROM job
WHERE pool = ANY(%(pools)s) AND state IN ({_DISPATCHED}) AND worker IS NOT NULL ORDER BY worker, pool
"""


class Holder(Struct, frozen=True):
    """Job that has a slot, and the worker that runs it. The worker is None if the job has yet to be claimed, or if its
    external work runs without one."""

    app: str
    key: str
    state: State
    since: datetime
    host: str | None
    pid: int | None

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


class SlotWait(Struct, frozen=True, kw_only=True):
    """Wait of one job for a slot: the number of jobs ``ahead``, the number of ``taken`` slots, and the jobs that have
    them."""

    ahead: int
    taken: int
    holders: list[Holder]


def slot_wait(tx: Tx, job: int, pool: str) -> SlotWait:
    return SlotWait(
        ahead=tx.column(_AHEAD, job=job, pool=pool, limit=COUNTED_MAX + 1)[0],
        taken=tx.column(_TAKEN, pool=pool, limit=COUNTED_MAX + 1)[0],
        holders=tx.structs(Holder, _HOLDERS, pool=pool, limit=TOLD_MAX),
    )


class RateWait(Struct, frozen=True, kw_only=True):
    """Wait of one job for a token of its rate limit: the terms of the limit, the number of ``tokens`` left, the time
    from which one is left, and the number of jobs ``ahead``. The time is None if ready jobs have reserved all tokens.
    """

    apart_s: float
    burst: int
    tokens: int
    next_at: datetime | None
    ahead: int


def rate_wait(tx: Tx, job: int, bucket: str) -> RateWait | None:
    return next(iter(tx.structs(RateWait, _RATE, job=job, bucket=bucket, limit=COUNTED_MAX + 1)), None)


class Slot(Holder, frozen=True):
    """Slot of a pool, with the job that has it."""

    pool: str


class PoolWaits(Struct, frozen=True):
    """Pool in which jobs wait. ``behind`` is their number. ``limit_min`` and ``limit_max`` are the least and the
    greatest limit that a waiting job was planned with. ``taken`` is the number of taken slots."""

    pool: str
    limit_min: int
    limit_max: int
    behind: int
    taken: int


class PoolCounts(Struct, frozen=True):
    """Pool with jobs that have a slot or wait for one. ``taken`` and ``behind`` are their numbers, at most
    ``COUNTED_MAX``. ``slots`` is the limit that the jobs were planned with; None if the pool is empty by now."""

    pool: str
    taken: int
    behind: int
    slots: int | None


class Pools(Struct, frozen=True, kw_only=True):
    """Pools in which jobs wait.

    ``told`` are listed by name; ``more`` is the number of pools that are not. ``slots`` are the slots of the listed
    pools that have been taken longest. ``workers`` maps the id of a worker to the listed pools in which it has slots.
    """

    told: list[PoolWaits]
    slots: list[Slot]
    workers: dict[str, list[str]]
    more: int


def pool_counts(tx: Tx) -> list[PoolCounts]:
    """Return the first ``METRICS_MAX`` pools by name that have jobs with a slot or jobs that wait for one."""
    names = {*tx.column(_USED_POOLS, limit=METRICS_MAX), *tx.column(_POOLS, limit=METRICS_MAX)}
    return tx.structs(PoolCounts, _COUNTS, pools=sorted(names)[:METRICS_MAX], limit=COUNTED_MAX)


def pools(tx: Tx) -> Pools:
    names = tx.column(_POOLS, limit=POOLS_MAX + COUNTED_MAX + 1)
    told = names[:POOLS_MAX]
    workers: dict[str, list[str]] = {}
    for worker, pool in tx.rows(_KEPT_BUSY, pools=told):
        workers.setdefault(worker, []).append(pool)
    return Pools(
        told=tx.structs(PoolWaits, _LINED_UP, pools=told, limit=COUNTED_MAX + 1),
        slots=tx.structs(Slot, _SLOTS, pools=told, limit=SLOTS_MAX),
        workers=workers,
        more=len(names) - len(told),
    )
