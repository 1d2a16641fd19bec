"""Facts about what keeps a job in its state. ``sluice.ops`` turns them into messages.

Every read is bounded, because an operator needs this when there is too much of something.
"""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.ref import JobName
from sluice.jobs.states import DEAD, State
from sluice.ledger.app_pauses import AppPause, pause_of
from sluice.ledger.connection import Tx
from sluice.ledger.reads import askers, dossier, fleet, flights, upstream
from sluice.ledger.reads.flights import Flight
from sluice.ledger.reads.lines import Line, line
from sluice.ledger.reads.pieces import Pieces, pieces
from sluice.ledger.sql import IN_TURN, NOW

#: Maximum number of more urgent jobs that are counted.
AHEAD_MAX = 1000

_LEASE = f"""
SELECT worker.host, worker.pid, worker.lease_until,
       worker.lease_until > {NOW} AND worker.left_at IS NULL AS stands
FROM worker WHERE worker.id = %(worker)s::uuid
"""
# The collation is that of the index ``job_urgency``; see there.
_AHEAD = f"""
SELECT count(*) FROM (
    SELECT 1 FROM job WHERE job.app COLLATE "C" = %(app)s AND job.state COLLATE "C" = '{State.READY}'
      AND ({IN_TURN}) < (SELECT {IN_TURN} FROM job WHERE job.id = %(job)s) LIMIT %(limit)s) ahead
"""
_LAST_ERROR = """
SELECT error FROM round WHERE job = %(job)s AND error IS NOT NULL ORDER BY claim DESC LIMIT 1
"""
_LAST_NOTE = "SELECT note FROM transition WHERE job = %(job)s ORDER BY id DESC LIMIT 1"
_CHILD = """
SELECT child.app, child.key, child.place FROM need JOIN job child ON child.id = need.child
WHERE need.parent = %(job)s LIMIT 1
"""


class Lease(Struct, frozen=True):
    """Lease of the worker that holds the job. ``stands``: the worker has renewed it in time and has not left."""

    host: str
    pid: int
    lease_until: datetime
    stands: bool

    @property
    def holder(self) -> str:
        return f"{self.host}:{self.pid}"


class Obstacles(Struct, frozen=True, kw_only=True):
    """Facts about one job. ``job`` is None if the ledger does not contain it. Fields that do not concern its state are
    empty.

    ``unserved`` are the control queues that no worker takes from. ``crew`` are the workers that run the jobs of its
    app, and ``ahead`` is the number of more urgent jobs. ``child`` is a job that needs it; ``to_land``: it stands for a
    partition of an external table. ``note`` is the note of its last transition. ``root`` describes the job, possibly
    far upstream, that it waits for in the end. ``pieces`` run in its place. ``line`` describes its wait for a slot of
    its pool. ``flight`` is set for a saga that has begun and not ended. ``app_pause`` keeps the jobs of its app from
    starting.
    """

    now: datetime
    job: dossier.Job | None
    unserved: list[str] = []
    unplanned: list[askers.Unplanned] = []
    refused: list[askers.Refused] = []
    wanted_by: list[askers.Wanter] = []
    paused_by: list[askers.Pauser] = []
    alternatives: list[upstream.Alternative] = []
    unsettled: list[upstream.Unsettled] = []
    causes: list[upstream.Cause] = []
    crew: fleet.Crew | None = None
    ahead: int = 0
    lease: Lease | None = None
    child: JobName | None = None
    to_land: bool = False
    last_error: str | None = None
    note: str | None = None
    root: "Obstacles | None" = None
    pieces: Pieces = Pieces()
    line: Line | None = None
    flight: Flight | None = None
    app_pause: AppPause | None = None


def obstacles(tx: Tx, name: JobName, *, control: Sequence[str], spellings: Sequence[str] = ()) -> Obstacles:
    """Return the facts that explain why this job has not got further, or why it ended as it did.

    ``control`` are the system's own queues, ``spellings`` are other ways in which the key may have been written.
    """
    job = dossier.job(tx, name)
    found = Obstacles(
        now=tx.instant(),
        job=job,
        unserved=fleet.unserved(tx, control),
        unplanned=askers.unplanned(tx, name, spellings),
        refused=askers.refused(tx, name, spellings),
    )
    return found if job is None else _of(tx, job, found)


def _of(tx: Tx, job: dossier.Job, found: Obstacles) -> Obstacles:
    found = replace(
        found,
        refused=[each for each in found.refused if each.received_at > job.changed_at],
        last_error=next(iter(tx.column(_LAST_ERROR, job=job.id)), None),
        note=next(iter(tx.column(_LAST_NOTE, job=job.id)), None),
        crew=fleet.crew(tx, job.app) if job.is_left or job.is_to_be_ended else None,
        flight=flights.flight(tx, job.id) if job.flying else None,
        app_pause=pause_of(tx, job.app) if job.state is State.READY or job.queued else None,
    )
    if job.state is State.WAITING or job.state in DEAD:
        return _with_parents(tx, job, found)
    if job.state is State.SPLIT:
        return replace(found, pieces=pieces(tx, job.id))
    if job.state is State.READY:
        (ahead,) = tx.column(_AHEAD, app=job.app, job=job.id, limit=AHEAD_MAX + 1)
        return replace(found, crew=fleet.crew(tx, job.app), ahead=ahead)
    if job.state is State.EXPECTED:
        for app, key, place in tx.rows(_CHILD, job=job.id):
            return replace(found, child=JobName(app, key), to_land=place is not None)
        return found
    leases = tx.structs(Lease, _LEASE, worker=job.worker) if job.worker else []
    return replace(found, lease=leases[0] if leases else None)


def _with_parents(tx: Tx, job: dossier.Job, found: Obstacles) -> Obstacles:
    unmet = upstream.unsettled(tx, job.id)
    first_cause = upstream.root(tx, job.id) if job.state is State.WAITING and not job.open else None
    if first_cause in {parent.name for parent in unmet if parent.state is State.EXPECTED}:
        first_cause = None  # ``unsettled`` contains everything about it.
    return replace(
        found,
        alternatives=upstream.alternatives(tx, job.id),
        unsettled=unmet,
        causes=upstream.causes(tx, job.id) if any(parent.dead for parent in unmet) else [],
        wanted_by=askers.wanted_by(tx, job.id) if job.state is State.CANCELLED else [],
        paused_by=askers.paused_by(tx, job.id) if job.is_held_back else [],
        root=_alone(tx, first_cause, found) if first_cause else None,
        line=line(tx, job.id, job.pool) if job.queued and job.pool else None,
    )


def _alone(tx: Tx, name: JobName, of: Obstacles) -> Obstacles:
    """Return the obstacles of a job that does not wait for others."""
    job = dossier.job(tx, name)
    found = Obstacles(now=of.now, job=job, unserved=of.unserved)
    return found if job is None else _of(tx, job, found)
