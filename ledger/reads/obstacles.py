"""Obstacles that keep a job in its state, as facts for `sluice why`.

``sluice.ops`` turns the facts into messages. Every list is bounded, because an operator needs this when there is too
much of something: a job may have a hundred thousand parents.

- ``obstacles``: all facts about one job.
- ``alternatives``, ``unmet``, ``root`` and ``causes``: the unmet needs of a job. These are its alternatives, the
  parents that they lack, and the causes further upstream.
- ``pieces``: jobs that run in place of a split job. They are its halves, or the halves of these, to any depth.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.model.dependency import When
from sluice.jobs.model.names import JobName
from sluice.jobs.states import DEAD, LIVE, State, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import IN_TURN, NOW
from sluice.ledger.limits.app_pauses import AppPause, pause_of
from sluice.ledger.reads import fleet, job_details, requesters, saga_details
from sluice.ledger.reads.pool_queue import RateWait, SlotWait, rate_wait, slot_wait
from sluice.ledger.reads.saga_details import FlightRecord

#: Maximum number of an alternative's parents, and of jobs upstream, that are read.
LOOKED_AT_MAX = 10_000
#: Maximum number of parents that are listed for each alternative, and of causes.
TOLD_MAX = 20

# Expected parents of a step stand for partitions of external tables: see ``to_land``.
_OF_STEP = "(SELECT output_table IS NOT NULL FROM job WHERE id = %(job)s) AS of_step"
_LACKED = """
SELECT parent, condition, met, stale_claim FROM need
WHERE need.child = gate.child AND need.gate = gate.gate AND met IS NOT TRUE LIMIT %(looked)s
"""
_ALTERNATIVES = f"""
SELECT gate.name, gate.unmet, gate.impossible, coalesce(tally.states, '{{}}') AS states, {_OF_STEP}
FROM gate LEFT JOIN LATERAL (
    SELECT jsonb_object_agg(state, count) AS states FROM (
        SELECT parent.state, count(*) FROM ({_LACKED}) lacked JOIN job parent ON parent.id = lacked.parent
        GROUP BY parent.state) counted) tally ON true
WHERE gate.child = %(job)s ORDER BY gate.gate
"""
_LAST_ERROR = """
LEFT JOIN LATERAL (
    SELECT error FROM round WHERE round.job = {job} AND error IS NOT NULL ORDER BY claim DESC LIMIT 1) last ON true
"""
# First the parents that can no longer meet the need, then the parents that no submission has requested. In both cases a
# person must act.
_UNMET = f"""
SELECT gate.name AS group, told.*, last.error, {_OF_STEP}
FROM gate CROSS JOIN LATERAL (
    SELECT parent.id, parent.app, parent.key, parent.state, parent.changed_at AS since, condition,
           met IS FALSE AS impossible,
           coalesce(parent.state = '{State.SUCCEEDED}' AND parent.claim <= stale_claim, false) AS stale
    FROM ({_LACKED}) lacked JOIN job parent ON parent.id = lacked.parent
    ORDER BY met, parent.state = '{State.EXPECTED}' DESC, parent.app, parent.key LIMIT %(limit)s) told
{_LAST_ERROR.format(job="told.id")}
WHERE gate.child = %(job)s ORDER BY told.impossible DESC, gate.gate
"""
# Upstream through dead parents, to parents that did not end because of their own parents.
_CAUSES = f"""
WITH RECURSIVE up (id) AS (
    SELECT %(job)s::bigint
    UNION
    SELECT need.parent FROM up JOIN need ON need.child = up.id WHERE need.met IS FALSE
)
SELECT job.app, job.key, job.state, job.changed_at AS since, last.error
FROM (SELECT id FROM up LIMIT %(looked)s) reached JOIN job USING (id) {_LAST_ERROR.format(job="job.id")}
WHERE job.id <> %(job)s AND (job.state NOT IN ({sql_list(State.UPSTREAM_FAILED, State.SKIPPED)}) OR NOT EXISTS (
    SELECT 1 FROM need WHERE need.child = job.id AND need.met IS FALSE))
ORDER BY job.changed_at, job.id LIMIT %(limit)s
"""
# Upstream through jobs that wait for their parents, to jobs that wait for something else. A job that no submission has
# requested comes first, if its child has no other alternative. The other jobs are in the order in which they may need
# attention.
_ROOT = f"""
WITH RECURSIVE up (id, sole) AS (
    SELECT %(job)s::bigint, true
    UNION
    SELECT need.parent, NOT EXISTS (SELECT 1 FROM gate other WHERE other.child = up.id AND other.gate <> gate.gate)
    FROM up JOIN job ON job.id = up.id AND job.state = '{State.WAITING}' AND NOT job.unblocked
         JOIN gate ON gate.child = up.id AND gate.impossible = 0
         JOIN need ON need.child = gate.child AND need.gate = gate.gate AND need.met IS NULL
)
SELECT job.app, job.key FROM (SELECT * FROM up LIMIT %(looked)s) reached JOIN job USING (id)
WHERE job.id <> %(job)s AND job.state = ANY(%(order)s) AND (job.state <> '{State.WAITING}' OR job.unblocked)
ORDER BY job.state = '{State.EXPECTED}' AND reached.sole DESC, array_position(%(order)s::text[], job.state),
         job.changed_at, job.id LIMIT 1
"""
_ROOT_ORDER = (State.SUSPENDED, State.READY, State.WAITING, State.EXECUTED, State.RUNNING, State.EXPECTED)


class UnmetAlternative(Struct, frozen=True):
    """Alternative of a job. ``unmet`` is the number of its needs that are not met, ``impossible`` how many of these
    never
    will be. ``states`` counts the parents of unmet needs by state."""

    name: str
    unmet: int
    impossible: int
    states: Mapping[State, int]
    of_step: bool = False

    @property
    def to_land(self) -> int:
        """Number of its parents that stand for partitions of external tables."""
        return self.states.get(State.EXPECTED, 0) if self.of_step else 0


class UnmetDependency(Struct, frozen=True):
    """Parent that does not meet the need of the job. ``impossible``: it never will. ``stale``: it has succeeded, but
    too long
    ago, and no rerun has been requested. ``error`` is its last error."""

    group: str
    app: str
    key: str
    state: State
    since: datetime
    condition: When
    impossible: bool
    error: str | None = None
    stale: bool = False
    of_step: bool = False

    @property
    def to_land(self) -> bool:
        """True if it stands for a partition of an external table."""
        return self.of_step and self.state is State.EXPECTED

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


class Cause(Struct, frozen=True):
    """Job upstream, possibly far, that ended badly for a reason of its own."""

    app: str
    key: str
    state: State
    since: datetime
    error: str | None

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


def alternatives(tx: Tx, job: int) -> list[UnmetAlternative]:
    return tx.structs(UnmetAlternative, _ALTERNATIVES, job=job, looked=LOOKED_AT_MAX)


def unmet_dependencies(tx: Tx, job: int) -> list[UnmetDependency]:
    """Return the parents that do not meet a need: dead ones first, and the first few of each alternative."""
    return tx.structs(UnmetDependency, _UNMET, job=job, looked=LOOKED_AT_MAX, limit=TOLD_MAX)


def root(tx: Tx, job: int) -> JobName | None:
    """Return the most important upstream job that a waiting job waits for in the end; None if there is none."""
    rows = tx.rows(_ROOT, job=job, looked=LOOKED_AT_MAX, order=[*_ROOT_ORDER])
    return JobName(*rows[0]) if rows else None


def causes(tx: Tx, job: int) -> list[Cause]:
    return tx.structs(Cause, _CAUSES, job=job, looked=LOOKED_AT_MAX, limit=TOLD_MAX)


_PIECES = f"""
WITH RECURSIVE within (id) AS (
    SELECT %(job)s::bigint UNION ALL SELECT half.id FROM within JOIN job half ON half.bisected_from = within.id
), piece AS (
    SELECT job.* FROM within JOIN job USING (id) WHERE job.state <> '{State.SPLIT}'
)
"""
_TALLY = f"{_PIECES} SELECT state, count(*) FROM piece GROUP BY state ORDER BY state"
_UNDONE = f"""
{_PIECES}
SELECT piece.app, piece.key, piece.state, last.error FROM piece LEFT JOIN LATERAL (
    SELECT error FROM round WHERE round.job = piece.id AND error IS NOT NULL ORDER BY claim DESC LIMIT 1) last ON true
WHERE piece.state IN ({sql_list(*sorted(DEAD | LIVE))})
ORDER BY piece.state IN ({sql_list(*sorted(LIVE))}), piece.id LIMIT %(limit)s
"""


class Piece(Struct, frozen=True):
    """Piece that has not succeeded, with its last error."""

    app: str
    key: str
    state: State
    error: str | None = None

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


class Pieces(Struct, frozen=True):
    """Pieces of a split job. ``state_count`` counts them by state. ``undone`` are the first pieces that have not
    succeeded,
    dead ones before live ones."""

    tally: Mapping[State, int] = {}
    undone: list[Piece] = []

    @property
    def dead(self) -> list[Piece]:
        return [piece for piece in self.undone if piece.state in DEAD]


def pieces(tx: Tx, job: int) -> Pieces:
    """Return the pieces of a split job."""
    tally = {State(state): count for state, count in tx.rows(_TALLY, job=job)}
    return Pieces(tally, tx.structs(Piece, _UNDONE, job=job, limit=TOLD_MAX))


#: Maximum number of more urgent jobs that are counted.
AHEAD_MAX = 1000

_LEASE = f"""
SELECT worker.host, worker.pid, worker.lease_until,
       worker.lease_until > {NOW} AND worker.left_at IS NULL AS stands
FROM worker WHERE worker.id = %(worker)s::uuid
"""
# The collation is that of the index ``job_urgency`` (``ledger.schema.job_tables``), where the reason is given.
_AHEAD = f"""
SELECT count(*) FROM (
    SELECT 1 FROM job WHERE job.app COLLATE "C" = %(app)s AND job.state COLLATE "C" = '{State.READY}'
      AND ({IN_TURN}) < (SELECT {IN_TURN} FROM job WHERE job.id = %(job)s) LIMIT %(limit)s) ahead
"""
_LAST_ERROR_OF_JOB = """
SELECT error FROM round WHERE job = %(job)s AND error IS NOT NULL ORDER BY claim DESC LIMIT 1
"""
_LAST_NOTE = "SELECT note FROM history WHERE job = %(job)s ORDER BY id DESC LIMIT 1"
_CHILD = """
SELECT child.app, child.key, child.output_table FROM need JOIN job child ON child.id = need.child
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
    far upstream, that it waits for in the end. ``pieces`` run in its place. ``slot_wait`` describes its wait for a slot
    of its pool, and ``rate_wait`` its wait for a token of its rate limit. ``flight`` is set for a saga that has begun
    and not ended. ``app_pause`` keeps the jobs of its app from starting.
    """

    now: datetime
    job: job_details.JobRow | None
    unserved: list[str] = []
    unplanned: list[requesters.Unplanned] = []
    refused: list[requesters.Refused] = []
    wanted_by: list[requesters.Wanter] = []
    paused_by: list[requesters.Pauser] = []
    alternatives: list[UnmetAlternative] = []
    unmet: list[UnmetDependency] = []
    causes: list[Cause] = []
    crew: fleet.QueueWorkers | None = None
    ahead: int = 0
    lease: Lease | None = None
    child: JobName | None = None
    to_land: bool = False
    last_error: str | None = None
    note: str | None = None
    root: "Obstacles | None" = None
    pieces: Pieces = Pieces()
    slot_wait: SlotWait | None = None
    rate_wait: RateWait | None = None
    flight: FlightRecord | None = None
    app_pause: AppPause | None = None


def obstacles(tx: Tx, name: JobName, *, control: Sequence[str], spellings: Sequence[str] = ()) -> Obstacles:
    """Return the facts that explain why this job has not got further, or why it ended as it did.

    ``control`` are the system's own queues, ``spellings`` are other ways in which the key may have been written.
    """
    job = job_details.job(tx, name)
    found = Obstacles(
        now=tx.current_time(),
        job=job,
        unserved=fleet.unserved(tx, control),
        unplanned=requesters.unplanned(tx, name, spellings),
        refused=requesters.refused(tx, name, spellings),
    )
    return found if job is None else _of(tx, job, found)


def _of(tx: Tx, job: job_details.JobRow, found: Obstacles) -> Obstacles:
    found = replace(
        found,
        refused=[each for each in found.refused if each.received_at > job.changed_at],
        last_error=next(iter(tx.column(_LAST_ERROR_OF_JOB, job=job.id)), None),
        note=next(iter(tx.column(_LAST_NOTE, job=job.id)), None),
        crew=fleet.crew(tx, job.app) if job.is_left or job.is_to_be_ended else None,
        flight=saga_details.flight(tx, job.id) if job.saga_open else None,
        app_pause=pause_of(tx, job.app) if job.state is State.READY or job.waiting_for_slot else None,
    )
    return _ADDED_BY_STATE.get(job.state, _with_lease)(tx, job, found)


def _with_parents(tx: Tx, job: job_details.JobRow, found: Obstacles) -> Obstacles:
    unmet = unmet_dependencies(tx, job.id)
    first_cause = root(tx, job.id) if job.state is State.WAITING and not job.unblocked else None
    if first_cause in {parent.name for parent in unmet if parent.state is State.EXPECTED}:
        first_cause = None  # ``unmet`` contains everything about it.
    return replace(
        found,
        alternatives=alternatives(tx, job.id),
        unmet=unmet,
        causes=causes(tx, job.id) if any(parent.impossible for parent in unmet) else [],
        wanted_by=requesters.wanted_by(tx, job.id) if job.state is State.CANCELLED else [],
        paused_by=requesters.paused_by(tx, job.id) if job.is_held_back else [],
        root=_alone(tx, first_cause, found) if first_cause else None,
        slot_wait=slot_wait(tx, job.id, job.pool) if job.waiting_for_slot and job.pool else None,
        rate_wait=_rate_wait(tx, job),
    )


def _rate_wait(tx: Tx, job: job_details.JobRow) -> RateWait | None:
    if not job.waiting_for_slot or job.rate_bucket is None or job.saga_open:
        return None
    return rate_wait(tx, job.id, job.rate_bucket)


def _with_pieces(tx: Tx, job: job_details.JobRow, found: Obstacles) -> Obstacles:
    return replace(found, pieces=pieces(tx, job.id))


def _with_queue(tx: Tx, job: job_details.JobRow, found: Obstacles) -> Obstacles:
    (ahead,) = tx.column(_AHEAD, app=job.app, job=job.id, limit=AHEAD_MAX + 1)
    return replace(found, crew=fleet.crew(tx, job.app), ahead=ahead)


def _with_child(tx: Tx, job: job_details.JobRow, found: Obstacles) -> Obstacles:
    for app, key, place in tx.rows(_CHILD, job=job.id):
        return replace(found, child=JobName(app, key), to_land=place is not None)
    return found


def _with_lease(tx: Tx, job: job_details.JobRow, found: Obstacles) -> Obstacles:
    leases = tx.structs(Lease, _LEASE, worker=job.worker) if job.worker else []
    return replace(found, lease=leases[0] if leases else None)


#: Function that adds the facts about jobs in a state. For all other states it is ``_with_lease``.
_ADDED_BY_STATE: Mapping[State, Callable[[Tx, job_details.JobRow, Obstacles], Obstacles]] = {
    **dict.fromkeys(DEAD, _with_parents),
    State.WAITING: _with_parents,
    State.SPLIT: _with_pieces,
    State.READY: _with_queue,
    State.EXPECTED: _with_child,
}


def _alone(tx: Tx, name: JobName, of: Obstacles) -> Obstacles:
    """Return the obstacles of a job that does not wait for others."""
    job = job_details.job(tx, name)
    found = Obstacles(now=of.now, job=job, unserved=of.unserved)
    return found if job is None else _of(tx, job, found)
