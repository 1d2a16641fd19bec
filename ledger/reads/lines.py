"""Who has the slots of a pool, and who stands in line for one."""

from datetime import datetime

from msgspec import Struct

from sluice.jobs.ref import JobName
from sluice.jobs.states import DISPATCHED, State, sql_list
from sluice.ledger.connection import Tx
from sluice.ledger.sql import IN_TURN

#: More jobs before one than these are not counted, nor more slots that are taken.
COUNTED_MAX = 1000
#: Of those that have a slot, so many are told.
TOLD_MAX = 20
#: Of the pools that have a line, so many are told, and of the jobs that have a slot of each.
POOLS_MAX = 20
SLOTS_MAX = 5

_DISPATCHED = sql_list(*sorted(DISPATCHED))
_AHEAD = f"""
SELECT count(*) FROM (
    SELECT 1 FROM job WHERE queued AND job.pool = %(pool)s
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
# From one pool to the next along the index job_queue, however long the lines are.
_POOLS = """
WITH RECURSIVE line (pool) AS (
    (SELECT pool FROM job WHERE queued ORDER BY pool LIMIT 1)
    UNION ALL
    SELECT next.pool FROM line CROSS JOIN LATERAL (
        SELECT pool FROM job WHERE queued AND job.pool > line.pool ORDER BY pool LIMIT 1) next
)
SELECT pool FROM line LIMIT %(limit)s
"""
# A line may have gone since its pool was found.
_LINED_UP = f"""
SELECT pool, limit_min, limit_max, behind, taken FROM (
    SELECT given.pool, place,
    (SELECT min(pool_limit) FROM job WHERE queued AND job.pool = given.pool) AS limit_min,
    (SELECT max(pool_limit) FROM job WHERE queued AND job.pool = given.pool) AS limit_max,
    (SELECT count(*) FROM (
        SELECT 1 FROM job WHERE queued AND job.pool = given.pool LIMIT %(limit)s) behind) AS behind,
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
    """A job that has a slot, and the worker that runs it. There is none for one that is yet to be taken, or whose work
    goes on without."""

    app: str
    key: str
    state: State
    since: datetime
    host: str | None
    pid: int | None

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


class Line(Struct, frozen=True, kw_only=True):
    """What one job in it sees: how many are ``ahead``, how many slots are ``taken``, and by whom."""

    ahead: int
    taken: int
    holders: list[Holder]


def line(tx: Tx, job: int, pool: str) -> Line:
    return Line(
        ahead=tx.column(_AHEAD, job=job, pool=pool, limit=COUNTED_MAX + 1)[0],
        taken=tx.column(_TAKEN, pool=pool, limit=COUNTED_MAX + 1)[0],
        holders=tx.structs(Holder, _HOLDERS, pool=pool, limit=TOLD_MAX),
    )


class Slot(Holder, frozen=True):
    """One of a pool's slots."""

    pool: str


class Pool(Struct, frozen=True):
    """A pool in which jobs stand in line: ``behind`` are those, by the least and the highest limit that one of them was
    planned with; ``taken`` is how many slots are."""

    pool: str
    limit_min: int
    limit_max: int
    behind: int
    taken: int


class Pools(Struct, frozen=True, kw_only=True):
    """Those in which jobs stand in line, by name, as far as they are told, with those who have their slots the longest;
    ``more`` are not told. ``workers`` says in which pools each worker, by its id, has slots."""

    told: list[Pool]
    slots: list[Slot]
    workers: dict[str, list[str]]
    more: int


def pools(tx: Tx) -> Pools:
    names = tx.column(_POOLS, limit=POOLS_MAX + COUNTED_MAX + 1)
    told = names[:POOLS_MAX]
    workers: dict[str, list[str]] = {}
    for worker, pool in tx.rows(_KEPT_BUSY, pools=told):
        workers.setdefault(worker, []).append(pool)
    return Pools(
        told=tx.structs(Pool, _LINED_UP, pools=told, limit=COUNTED_MAX + 1),
        slots=tx.structs(Slot, _SLOTS, pools=told, limit=SLOTS_MAX),
        workers=workers,
        more=len(names) - len(told),
    )
