"""Everything the ledger knows of one job."""

from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from sluice.jobs.calendar import Span
from sluice.jobs.history import Round, Transition
from sluice.jobs.partition_key import ends_of
from sluice.jobs.ref import JobName
from sluice.jobs.states import REVIVABLE, TERMINAL, State
from sluice.jobs.submission import JSON
from sluice.ledger.connection import Tx
from sluice.ledger.reads import flights, partitions
from sluice.ledger.reads.flights import Flight
from sluice.ledger.shared_kwargs import KWARGS

_JOB = f"""
SELECT id, app, key, state, round, claim, fails, timeouts, losses, priority, open, not_before, end_before,
       deadline, created_at, changed_at, announced_at, worker::text, event, handle, {KWARGS} AS kwargs, work_ids,
       paused, watch_at, watch_s, said, place, collect, archived_at, pruned_at, pool,
       pool_limit, queued, flying, turn_back,
       (SELECT ARRAY[undo.app, undo.key, undo.state] FROM job undo
        WHERE undo.undoes = job.id AND undo.undoes_claim = job.claim ORDER BY undo.id DESC LIMIT 1) AS compensated_by,
       (SELECT ARRAY[done.app, done.key, done.state] FROM job done WHERE done.id = job.undoes) AS compensates
FROM job WHERE app = %(app)s AND key = %(key)s
"""
# Of a long job the rounds, steps and submissions are read from the last backwards, along an index, and no more of them
# than are wanted; a limit that is null is none. A long text stands apart from its row, and is not read for its length.
_ROUNDS = """
SELECT round.round, round.claim, coalesce(worker.host || ':' || worker.pid, round.worker::text) AS worker,
       round.running_at, round.executed_at, round.ending, round.took_s, round.exit_code, round.error,
       CASE WHEN round.nth <= coalesce(%(texts)s::bigint, round.nth) THEN round.output END AS output,
       CASE WHEN round.nth <= coalesce(%(texts)s::bigint, round.nth) THEN round.stderr END AS stderr,
       coalesce(octet_length(round.output), 0) AS output_bytes, coalesce(octet_length(round.stderr), 0) AS stderr_bytes,
       round.digest, worker.code, round.output_blob, round.stderr_blob, round.log,
       round.error_after_commit
FROM (SELECT *, row_number() OVER (ORDER BY claim DESC) AS nth FROM round
      WHERE job = %(job)s ORDER BY claim DESC LIMIT %(limit)s::bigint) round
LEFT JOIN worker ON worker.id = round.worker ORDER BY round.claim
"""
_ROUND = """
SELECT round.round, round.claim, round.worker::text, round.running_at, round.executed_at, round.ending, round.took_s,
       round.exit_code, round.error, round.output, round.stderr, round.output_blob, round.stderr_blob,
       round.error_after_commit
FROM round JOIN job ON job.id = round.job
WHERE job.app = %(app)s AND job.key = %(key)s AND round.claim = %(claim)s
"""
_HISTORY = """
SELECT at, source, target, verb, by, round, claim, note FROM (
    SELECT * FROM transition WHERE job = %(job)s ORDER BY id DESC LIMIT %(limit)s::bigint) last
ORDER BY id
"""
_PARENTS = """
SELECT need.gate, gate.name, parent.app, parent.key, parent.state, need.condition, need.settled
FROM need JOIN job parent ON parent.id = need.parent JOIN gate USING (child, gate)
WHERE need.child = %(job)s ORDER BY need.gate, parent.app, parent.key LIMIT %(limit)s
"""
_CHILDREN = """
SELECT DISTINCT child.app, child.key, child.state FROM need JOIN job child ON child.id = need.child
WHERE need.parent = %(job)s ORDER BY child.app, child.key LIMIT %(limit)s
"""
_WHOLE = """
SELECT whole.app, whole.key, whole.state FROM job JOIN job whole ON whole.id = job.half_of WHERE job.id = %(job)s
"""
_HALVES = "SELECT app, key, state FROM job WHERE half_of = %(job)s ORDER BY id"
_SUBMISSIONS = """
SELECT id FROM (
    SELECT submission.number, submission.id FROM wants JOIN submission ON submission.number = wants.submission
    WHERE wants.job = %(job)s ORDER BY submission.number DESC LIMIT %(limit)s::bigint) last
ORDER BY number
"""
_COUNTS = """
SELECT (SELECT count(*) FROM round WHERE job = %(job)s) AS rounds,
       (SELECT count(*) FROM transition WHERE job = %(job)s) AS history,
       (SELECT count(*) FROM wants WHERE job = %(job)s) AS submissions
"""
#: A job may have a hundred thousand parents; nobody reads more than this of them at once.
RELATIVES_MAX = 1000


class Related(NamedTuple):
    """A job, and the state that it is in."""

    app: str
    key: str
    state: State

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


class Job(Struct, frozen=True):
    """``compensated_by`` undoes its last run, or has; ``compensates`` is what it is itself to undo."""

    id: int
    app: str
    key: str
    state: State
    round: int
    claim: int
    fails: int
    timeouts: int
    losses: int
    priority: int
    open: bool
    not_before: datetime | None
    end_before: datetime | None
    deadline: datetime | None
    created_at: datetime
    changed_at: datetime
    announced_at: datetime | None
    worker: str | None
    event: str | None
    handle: JSON = None
    kwargs: JSON = None
    work_ids: JSON = None
    paused: bool = False
    watch_at: datetime | None = None
    watch_s: float | None = None
    said: str | None = None
    place: str | None = None
    collect: bool = False
    archived_at: datetime | None = None
    pruned_at: datetime | None = None
    pool: str | None = None
    pool_limit: int | None = None
    queued: bool = False
    flying: bool = False
    turn_back: str | None = None
    compensated_by: Related | None = None
    compensates: Related | None = None

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)

    @property
    def span(self) -> tuple[str, str] | None:
        """Of a step, the first and the last of its partitions."""
        return ends_of(self.key) if self.place is not None else None

    @property
    def is_left(self) -> bool:
        """It runs, and its work goes on elsewhere without a worker: somebody looks at it now and then."""
        return self.state is State.RUNNING and self.watch_at is not None

    @property
    def is_to_be_ended(self) -> bool:
        """It is over, and what it had started elsewhere is not."""
        return self.state in TERMINAL and self.handle is not None

    @property
    def is_held_back(self) -> bool:
        """One that runs is not, though its next round may be."""
        return self.paused and self.state is State.WAITING

    @property
    def is_pruned(self) -> bool:
        """Nothing of how it came to its end is kept any more."""
        return self.state in TERMINAL and self.pruned_at is not None and self.pruned_at >= self.changed_at

    @property
    def is_uncollected(self) -> bool:
        """It has ended, and somebody is to archive it. Of one that was split the halves are."""
        return self.collect and self.state in REVIVABLE and self.archived_at is None


class Parent(Struct, frozen=True):
    gate: int
    name: str
    app: str
    key: str
    state: State
    condition: str
    settled: bool | None


class Child(Struct, frozen=True):
    app: str
    key: str
    state: State


class Half(Struct, frozen=True):
    """Or the whole, seen from a half."""

    app: str
    key: str
    state: State


class Bounds(Struct, frozen=True, kw_only=True):
    """How many are read of what a job may have without end, the last of each; and of how many rounds, the last again,
    what they printed. None is all."""

    rounds: int | None = None
    texts: int | None = None
    history: int | None = None
    submissions: int | None = None


ALL = Bounds()


class Counts(Struct, frozen=True, kw_only=True):
    """How many there are of each, whether they were read or not."""

    rounds: int
    history: int
    submissions: int


class Dossier(Struct, frozen=True):
    """``half_of`` was split, and this runs in its place; ``halves`` run in the place of this. ``done`` are those of a
    step's partitions that are there; ``flight`` is the last of a saga. ``counts`` were taken last, so nothing is listed
    that they do not have."""

    job: Job
    submissions: list[str]
    rounds: list[Round]
    history: list[Transition]
    parents: list[Parent]
    children: list[Child]
    half_of: Half | None
    halves: list[Half]
    done: list[Span]
    flight: Flight
    counts: Counts

    @property
    def is_told_whole(self) -> bool:
        """Every step stands here, and every round with what it printed."""
        return (
            len(self.history) == self.counts.history
            and len(self.rounds) == self.counts.rounds
            and all(each.has_texts for each in self.rounds)
        )


def job(tx: Tx, name: JobName) -> Job | None:
    """The job's row, or None where the ledger has never heard of it."""
    found = tx.structs(Job, _JOB, app=name.app, key=name.key)
    return found[0] if found else None


def dossier(tx: Tx, name: JobName, bounds: Bounds = ALL) -> Dossier | None:
    """The job with its rounds, history and relatives."""
    found = job(tx, name)
    if found is None:
        return None
    return Dossier(
        job=found,
        submissions=tx.column(_SUBMISSIONS, job=found.id, limit=bounds.submissions),
        history=history(tx, found.id, bounds),
        rounds=rounds(tx, found.id, bounds),
        parents=parents(tx, found.id),
        children=tx.structs(Child, _CHILDREN, job=found.id, limit=RELATIVES_MAX),
        half_of=next(iter(tx.structs(Half, _WHOLE, job=found.id)), None),
        halves=tx.structs(Half, _HALVES, job=found.id),
        done=partitions.done(tx, found.id) if found.place is not None else [],
        flight=flights.flight(tx, found.id),
        counts=tx.structs(Counts, _COUNTS, job=found.id)[0],
    )


def rounds(tx: Tx, job: int, bounds: Bounds = ALL) -> list[Round]:
    """Read after the history they have every claim that stands in it, whatever happens meanwhile."""
    return tx.structs(Round, _ROUNDS, job=job, limit=bounds.rounds, texts=bounds.texts)


def one_round(tx: Tx, name: JobName, claim: int) -> Round | None:
    """That of this claim, with what it printed; None where the job has had no such claim, or there is no such job."""
    found = tx.structs(Round, _ROUND, app=name.app, key=name.key, claim=claim)
    return found[0] if found else None


def history(tx: Tx, job: int, bounds: Bounds = ALL) -> list[Transition]:
    return tx.structs(Transition, _HISTORY, job=job, limit=bounds.history)


def parents(tx: Tx, job: int) -> list[Parent]:
    return tx.structs(Parent, _PARENTS, job=job, limit=RELATIVES_MAX)
