"""What keeps a job where it is, as facts. Putting them into words is the desk's business."""

from datetime import datetime

from msgspec import Struct

from jobs.ref import JobName
from jobs.states import State
from jobs.submission import SubmissionState
from ledger.connection import Tx
from ledger.reads import dossier, fleet
from ledger.sql import NOW

_LEASE = f"""
SELECT worker.host, worker.pid, worker.lease_until, worker.lease_until > {NOW} AND worker.left_at IS NULL
FROM worker WHERE worker.id = %(worker)s::uuid
"""
_UNPLANNED = f"""
SELECT id FROM submission WHERE state = '{SubmissionState.RECEIVED}' AND app = %(app)s ORDER BY number LIMIT 10
"""
_WANTED = f"""
SELECT count(*) FROM wants JOIN submission ON submission.number = wants.submission
WHERE wants.job = %(job)s AND submission.state = '{SubmissionState.ACTIVE}'
"""


class Obstacles(Struct, frozen=True, kw_only=True):
    """``job`` is None where the ledger has not heard of it; then only ``unplanned`` tells anything."""

    now: datetime
    job: dossier.Job | None
    unplanned: list[str]
    unsettled: list[dossier.Parent] = []
    wanted_by: int = 0
    servers: int = 0
    planners: int = 0
    holder: str | None = None
    lease_until: datetime | None = None
    lease_stands: bool = False
    last_error: str | None = None


def obstacles(tx: Tx, name: JobName, *, planner_queue: str) -> Obstacles:
    """What there is to say about why this job has not got further."""
    job = dossier.job(tx, name)
    unplanned = tx.column(_UNPLANNED, app=name.app)
    if job is None:
        return Obstacles(now=tx.instant(), job=None, unplanned=unplanned)
    rounds = dossier.rounds(tx, job.id)
    lease = tx.rows(_LEASE, worker=job.worker) if job.state is State.RUNNING else []
    host, pid, until, stands = lease[0] if lease else (None, None, None, False)
    return Obstacles(
        now=tx.instant(),
        job=job,
        unplanned=unplanned,
        unsettled=[parent for parent in dossier.parents(tx, job.id) if parent.settled is not True],
        wanted_by=tx.column(_WANTED, job=job.id)[0],
        servers=fleet.servers(tx, name.app),
        planners=fleet.servers(tx, planner_queue),
        holder=f"{host}:{pid}" if host else None,
        lease_until=until,
        lease_stands=stands,
        last_error=next((round.error for round in reversed(rounds) if round.error), None),
    )
