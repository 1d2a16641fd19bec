"""Who has the slots of a pool, and who stands in line for one."""

from datetime import datetime

from msgspec import Struct

from jobs.ref import JobName
from jobs.states import DISPATCHED, State, sql_list
from ledger.connection import Tx
from ledger.sql import IN_TURN

#: More jobs before one than these are not counted, nor more slots that are taken.
COUNTED_MAX = 1000
#: Of those that have a slot, so many are told.
TOLD_MAX = 20

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
