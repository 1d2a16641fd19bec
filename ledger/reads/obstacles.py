"""What keeps a job where it is, as facts. Putting them into words is the desk's business."""

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from jobs.ref import JobName
from jobs.states import DEAD, State, sql_list
from jobs.submission import SubmissionState
from ledger.connection import Tx
from ledger.reads import dossier, fleet
from ledger.sql import NOW

#: A job may have a hundred thousand parents; what is told of them are the first few.
TOLD_MAX = 20

# A key may be spelled otherwise than canonically until it is planned, so those that name others may mean it too.
_UNPLANNED = f"""
SELECT id, received_at, CASE WHEN request ? 'key' THEN request->>'key' = %(key)s
                             WHEN request ? 'keys' THEN request->'keys' ? %(key)s ELSE true END AS asks_for_it
FROM submission WHERE state = '{SubmissionState.RECEIVED}' AND app = %(app)s
ORDER BY asks_for_it DESC, number LIMIT %(limit)s
"""
# First what will never come, then what nobody has asked for: these are what somebody has to do something about.
_UNSETTLED = f"""
SELECT gate.name AS group, parent.app, parent.key, parent.state, parent.changed_at AS since, need.condition,
       need.settled IS FALSE AS dead, count(*) OVER () AS total
FROM need JOIN job parent ON parent.id = need.parent JOIN gate USING (child, gate)
WHERE need.child = %(job)s AND need.settled IS NOT TRUE
ORDER BY need.settled, parent.state = '{State.EXPECTED}' DESC, need.gate, parent.app, parent.key LIMIT %(limit)s
"""
_ALTERNATIVES = "SELECT count(*) FROM gate WHERE child = %(job)s"
# Upwards through dead parents, to those that did not end for their own parents' sake.
_CAUSES = f"""
WITH RECURSIVE up (id) AS (
    SELECT %(job)s::bigint
    UNION
    SELECT need.parent FROM up JOIN need ON need.child = up.id JOIN job parent ON parent.id = need.parent
    WHERE need.settled IS FALSE
)
SELECT job.app, job.key, job.state, job.changed_at AS since, (
    SELECT error FROM round WHERE round.job = job.id AND error IS NOT NULL ORDER BY claim DESC LIMIT 1) AS error
FROM job JOIN up USING (id)
WHERE job.id <> %(job)s AND (job.state NOT IN ({sql_list(State.UPSTREAM_FAILED, State.SKIPPED)}) OR NOT EXISTS (
    SELECT 1 FROM need WHERE need.child = job.id AND need.settled IS FALSE))
ORDER BY job.changed_at, job.id LIMIT %(limit)s
"""
_LAST_ERROR = """
SELECT error FROM round WHERE job = %(job)s AND error IS NOT NULL ORDER BY claim DESC LIMIT 1
"""
_LEASE = f"""
SELECT worker.host, worker.pid, worker.lease_until,
       worker.lease_until > {NOW} AND worker.left_at IS NULL AS stands
FROM worker WHERE worker.id = %(worker)s::uuid
"""
_QUEUE = f"""
SELECT count(*) FILTER (WHERE state = '{State.READY}') AS ready,
       count(*) FILTER (WHERE state = '{State.RUNNING}') AS running
FROM job WHERE app = %(app)s AND state IN ('{State.READY}', '{State.RUNNING}')
"""


class Unplanned(Struct, frozen=True):
    """A submission that asks for jobs of the app and has not been planned yet. ``asks_for_it``: for this one, or
    for all there are."""

    id: str
    received_at: datetime
    asks_for_it: bool


class Unsettled(Struct, frozen=True):
    """A parent that is not what the job needs it to be; ``dead``: and never will. ``total``: how many there are."""

    group: str
    app: str
    key: str
    state: State
    since: datetime
    condition: str
    dead: bool
    total: int

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


class Cause(Struct, frozen=True):
    """A job, far up perhaps, that ended badly for reasons of its own."""

    app: str
    key: str
    state: State
    since: datetime
    error: str | None

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


class Lease(Struct, frozen=True):
    """The worker that holds the job; ``stands`` is whether it has been heard of in time."""

    host: str
    pid: int
    lease_until: datetime
    stands: bool

    @property
    def holder(self) -> str:
        return f"{self.host}:{self.pid}"


class Queue(Struct, frozen=True):
    """How many jobs of the app are ready, and how many are running."""

    ready: int
    running: int


class Obstacles(Struct, frozen=True, kw_only=True):
    """``job`` is None where the ledger has not heard of it. ``servers`` and ``planners`` count living workers
    that take from the app's queue and from the planner's."""

    now: datetime
    job: dossier.Job | None
    servers: int
    planners: int
    unplanned: list[Unplanned] = []
    unsettled: list[Unsettled] = []
    alternatives: int = 0
    causes: list[Cause] = []
    lease: Lease | None = None
    queue: Queue = Queue(0, 0)
    last_error: str | None = None


def obstacles(tx: Tx, name: JobName, *, planner_queue: str) -> Obstacles:
    """What there is to say about why this job has not got further, or ended as it did."""
    job = dossier.job(tx, name)
    found = Obstacles(
        now=tx.instant(),
        job=job,
        servers=fleet.servers(tx, name.app),
        planners=fleet.servers(tx, planner_queue),
        unplanned=tx.structs(Unplanned, _UNPLANNED, app=name.app, key=name.key, limit=TOLD_MAX),
    )
    return found if job is None else _of(tx, job, found)


def _of(tx: Tx, job: dossier.Job, found: Obstacles) -> Obstacles:
    leases = tx.structs(Lease, _LEASE, worker=job.worker) if job.worker else []
    return replace(
        found,
        unsettled=tx.structs(Unsettled, _UNSETTLED, job=job.id, limit=TOLD_MAX),
        alternatives=tx.column(_ALTERNATIVES, job=job.id)[0],
        causes=tx.structs(Cause, _CAUSES, job=job.id, limit=TOLD_MAX) if job.state in DEAD else [],
        lease=leases[0] if leases else None,
        queue=tx.structs(Queue, _QUEUE, app=job.app)[0],
        last_error=next(iter(tx.column(_LAST_ERROR, job=job.id)), None),
    )
