"""The workers, and who serves which queue."""

from datetime import datetime

from msgspec import Struct

from jobs.states import State
from ledger.connection import Tx
from ledger.sql import NOW

_WORKERS = f"""
SELECT worker.id::text, host, pid, queues, started_at, lease_until, lease_until > {NOW} AS alive,
       (SELECT count(*) FROM job WHERE job.worker = worker.id AND job.state = '{State.RUNNING}') AS running
FROM worker WHERE left_at IS NULL AND (lease_until > {NOW} - interval '1 hour')
ORDER BY started_at
"""
_SERVED = f"""
SELECT count(*) FROM worker
WHERE left_at IS NULL AND lease_until > {NOW} AND (queues = '{{}}' OR %(queue)s = ANY(queues))
"""


class Worker(Struct, frozen=True):
    id: str
    host: str
    pid: int
    queues: list[str]
    started_at: datetime
    lease_until: datetime
    alive: bool
    running: int


def workers(tx: Tx) -> list[Worker]:
    """The workers that are there, and those that were lost within the hour."""
    return tx.structs(Worker, _WORKERS)


def servers(tx: Tx, queue: str) -> int:
    """How many living workers take from this queue."""
    return int(tx.column(_SERVED, queue=queue)[0])
