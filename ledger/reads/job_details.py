"""Details of one job, and the graph of its upstream and downstream jobs.

``dossier`` returns everything that the ledger contains about one job. ``kinship`` returns its upstream and downstream
jobs, to any depth, for drawing. The number of jobs in the graph is bounded (``JOBS_MAX``), the nearest first.
"""

from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from sluice.jobs.keys.calendar import Span
from sluice.jobs.keys.partitions import ends_of
from sluice.jobs.model.dependency import When
from sluice.jobs.model.history import Round, Transition
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import JSON
from sluice.jobs.states import RERUNNABLE, TERMINAL, State
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.history import transitions
from sluice.ledger.job_graph import added_jobs
from sluice.ledger.job_graph.added_jobs import AddedJobs, NamedJob
from sluice.ledger.job_graph.shared_kwargs import KWARGS
from sluice.ledger.reads import saga_details
from sluice.ledger.reads.by_partition import table_partitions
from sluice.ledger.reads.results import StoredResult, result
from sluice.ledger.reads.saga_details import FlightRecord

_JOB = f"""
SELECT id, app, key, state, round, claim, fails, timeouts, losses, priority, unblocked, not_before, end_before,
       attempt_timeout_at, created_at, changed_at, dispatched_at, worker::text, event, handle, {KWARGS} AS kwargs,
           work_ids,
       paused, next_poll_at, poll_interval_s, external_status, output_table, needs_collection, archived_at,
           pruned_at, pool,
       pool_limit, rate_bucket, waiting_for_slot, saga_open, abort_reason, late_at, late, expansion,
       (SELECT ARRAY[undo.app, undo.key, undo.state] FROM job undo
        WHERE undo.undoes = job.id AND undo.undoes_claim = job.claim ORDER BY undo.id DESC LIMIT 1) AS compensated_by,
       (SELECT ARRAY[done.app, done.key, done.state] FROM job done WHERE done.id = job.undoes) AS compensates
FROM job WHERE app = %(app)s AND key = %(key)s
"""
# Rounds, transitions and submissions of a long job are read backwards along an index, and no more than requested; a
# null limit means all. Postgres stores a long text apart from its row, and does not read the text to determine its
# length.
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
_LAST_ROWS = "(SELECT * FROM history WHERE job = %(job)s ORDER BY id DESC LIMIT %(limit)s::bigint)"
_HISTORY = f"""
SELECT at, source, target, verb, by, round, claim, note FROM (
    SELECT * FROM ({transitions(_LAST_ROWS)}) step ORDER BY id DESC LIMIT %(limit)s::bigint) last
ORDER BY id
"""
_PARENTS = """
SELECT need.gate, gate.name, parent.app, parent.key, parent.state, need.condition, need.met
FROM need JOIN job parent ON parent.id = need.parent JOIN gate USING (child, gate)
WHERE need.child = %(job)s ORDER BY need.gate, parent.app, parent.key LIMIT %(limit)s
"""
_CHILDREN = """
SELECT DISTINCT child.app, child.key, child.state FROM need JOIN job child ON child.id = need.child
WHERE need.parent = %(job)s ORDER BY child.app, child.key LIMIT %(limit)s
"""
_WHOLE = """
SELECT whole.app, whole.key, whole.state FROM job JOIN job whole ON whole.id = job.bisected_from WHERE job.id = %(job)s
"""
_HALVES = "SELECT app, key, state FROM job WHERE bisected_from = %(job)s ORDER BY id"
_SUBMISSIONS = """
SELECT id FROM (
    SELECT submission.number, submission.id FROM submission_job
        JOIN submission ON submission.number = submission_job.submission
    WHERE submission_job.job = %(job)s ORDER BY submission.number DESC LIMIT %(limit)s::bigint) last
ORDER BY number
"""
_COUNTS = """
SELECT (SELECT count(*) FROM round WHERE job = %(job)s) AS rounds,
       (SELECT count(*) FROM transition WHERE job = %(job)s) AS history,
       (SELECT count(*) FROM submission_job WHERE job = %(job)s) AS submissions
"""
#: Maximum number of parents and of children that are read. A job may have a hundred thousand parents, but no reader
#: needs more than this together.
RELATIVES_MAX = 1000


class Related(NamedTuple):
    """Job with its state."""

    app: str
    key: str
    state: State

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


class JobRow(Struct, frozen=True):
    """Row of a job. ``compensated_by`` undoes its last run, or has undone it. ``compensates`` is the job that it undoes
    itself."""

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
    unblocked: bool
    not_before: datetime | None
    end_before: datetime | None
    attempt_timeout_at: datetime | None
    created_at: datetime
    changed_at: datetime
    dispatched_at: datetime | None
    worker: str | None
    event: str | None
    handle: JSON = None
    kwargs: JSON = None
    work_ids: JSON = None
    paused: bool = False
    next_poll_at: datetime | None = None
    poll_interval_s: float | None = None
    external_status: str | None = None
    output_table: str | None = None
    needs_collection: bool = False
    archived_at: datetime | None = None
    pruned_at: datetime | None = None
    pool: str | None = None
    pool_limit: int | None = None
    rate_bucket: str | None = None
    waiting_for_slot: bool = False
    saga_open: bool = False
    abort_reason: str | None = None
    late_at: datetime | None = None
    late: bool = False
    expansion: str | None = None
    compensated_by: Related | None = None
    compensates: Related | None = None

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)

    @property
    def span(self) -> tuple[str, str] | None:
        """First and last partition of a step; None for other jobs."""
        return ends_of(self.key) if self.output_table is not None else None

    @property
    def is_left(self) -> bool:
        """True if the job runs as external work that no worker holds: a worker polls it now and then."""
        return self.state is State.RUNNING and self.next_poll_at is not None

    @property
    def is_to_be_ended(self) -> bool:
        """True if the job is over, but the external work that it started is not."""
        return self.state in TERMINAL and self.handle is not None

    @property
    def is_held_back(self) -> bool:
        """True if a pause keeps the job from starting. A running job is not held back, though its next round may be."""
        return self.paused and self.state is State.WAITING

    @property
    def is_pruned(self) -> bool:
        """True if the history of how the job ended has been removed."""
        return self.state in TERMINAL and self.pruned_at is not None and self.pruned_at >= self.changed_at

    @property
    def is_uncollected(self) -> bool:
        """True if the job has ended and its result has yet to be archived. A split job is not collected; its halves
        are."""
        return self.needs_collection and self.state in RERUNNABLE and self.archived_at is None


class Parent(Struct, frozen=True):
    gate: int
    name: str
    app: str
    key: str
    state: State
    condition: str
    met: bool | None


class Child(Struct, frozen=True):
    app: str
    key: str
    state: State


class Half(Struct, frozen=True):
    """Half of a split job; or the split job, seen from a half."""

    app: str
    key: str
    state: State


class ReadLimits(Struct, frozen=True, kw_only=True):
    """Maximum numbers of entries to read, counted from the last one. ``texts`` is the number of rounds of which the
    output is read. None means all."""

    rounds: int | None = None
    texts: int | None = None
    history: int | None = None
    submissions: int | None = None


ALL = ReadLimits()


class EntryCounts(Struct, frozen=True, kw_only=True):
    """Total number of entries, whether they were read or not."""

    rounds: int
    history: int
    submissions: int


class Dossier(Struct, frozen=True):
    """Job with its history and related jobs.

    ``bisected_from`` is the split job in place of which this job runs; ``halves`` run in place of this job. ``done``
    are the existing partitions of a step. ``added`` are the jobs that this job has added, ``added_by`` the jobs that
    have added this job. ``flight`` is the last flight of a saga. ``counts`` are read last, so they
    include everything that is listed.
    """

    job: JobRow
    submissions: list[str]
    rounds: list[Round]
    history: list[Transition]
    parents: list[Parent]
    children: list[Child]
    bisected_from: Half | None
    halves: list[Half]
    added: AddedJobs | None
    added_by: list[NamedJob]
    done: list[Span]
    flight: FlightRecord
    result: StoredResult | None
    counts: EntryCounts

    @property
    def result_blob(self) -> str | None:
        """Name of the blob with the result, if it is too long for the ledger."""
        return self.result.result_blob if self.result else None

    @property
    def is_told_whole(self) -> bool:
        """True if the dossier contains every transition, and every round with its output."""
        return (
            len(self.history) == self.counts.history
            and len(self.rounds) == self.counts.rounds
            and all(each.has_texts for each in self.rounds)
        )


def job(tx: Tx, name: JobName) -> JobRow | None:
    """Return the job's row, or None if the ledger does not contain it."""
    found = tx.structs(JobRow, _JOB, app=name.app, key=name.key)
    return found[0] if found else None


def dossier(tx: Tx, name: JobName, bounds: ReadLimits = ALL) -> Dossier | None:
    """Return the job with its rounds, history and related jobs; None if the ledger does not contain it."""
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
        bisected_from=next(iter(tx.structs(Half, _WHOLE, job=found.id)), None),
        halves=tx.structs(Half, _HALVES, job=found.id),
        added=added_jobs.added_jobs(tx, found.id, found.expansion),
        added_by=added_jobs.added_by(tx, found.id),
        done=table_partitions.done(tx, found.id) if found.output_table is not None else [],
        flight=saga_details.flight(tx, found.id),
        result=result(tx, name) if found.state is State.SUCCEEDED else None,
        counts=tx.structs(EntryCounts, _COUNTS, job=found.id)[0],
    )


def rounds(tx: Tx, job: int, bounds: ReadLimits = ALL) -> list[Round]:
    """Return the rounds of a job. If they are read after the history, they include every claim in it, even if the job
    moves in between."""
    return tx.structs(Round, _ROUNDS, job=job, limit=bounds.rounds, texts=bounds.texts)


def one_round(tx: Tx, name: JobName, claim: int) -> Round | None:
    """Return the round of this claim, with its output. None if the job does not exist or has had no such claim."""
    found = tx.structs(Round, _ROUND, app=name.app, key=name.key, claim=claim)
    return found[0] if found else None


def history(tx: Tx, job: int, bounds: ReadLimits = ALL) -> list[Transition]:
    return tx.structs(Transition, _HISTORY, job=job, limit=bounds.history)


def parents(tx: Tx, job: int) -> list[Parent]:
    return tx.structs(Parent, _PARENTS, job=job, limit=RELATIVES_MAX)


#: Maximum number of jobs that are read upstream, and downstream. A larger picture helps no reader.
JOBS_MAX = 1000
#: Maximum number of needs between them.
NEEDS_MAX = 20_000

# A recursive query returns its rows level by level, and stops at the limit.
_ABOVE = """
WITH RECURSIVE up (id) AS (
    SELECT %(job)s::bigint UNION SELECT need.parent FROM up JOIN need ON need.child = up.id
)
SELECT id FROM up LIMIT %(limit)s
"""
_BELOW = """
WITH RECURSIVE down (id) AS (
    SELECT %(job)s::bigint UNION SELECT need.child FROM down JOIN need ON need.parent = down.id
)
SELECT id FROM down LIMIT %(limit)s
"""
_JOBS = "SELECT id, app, key, state, changed_at AS since FROM job WHERE id = ANY(%(jobs)s) ORDER BY app, key"
_NEEDS = """
SELECT need.parent, need.child, need.condition, need.added AND parent.work_ids IS NULL, CASE WHEN EXISTS (
    SELECT 1 FROM gate other WHERE other.child = gate.child AND other.gate <> gate.gate) THEN gate.name ELSE '' END
FROM need JOIN gate USING (child, gate) JOIN job parent ON parent.id = need.parent
WHERE need.child = ANY(%(jobs)s) AND need.parent = ANY(%(jobs)s) LIMIT %(limit)s
"""


class Kin(Struct, frozen=True):
    id: int
    app: str
    key: str
    state: State
    since: datetime

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


class Bond(Struct, frozen=True):
    """Need between two jobs. ``group`` is its alternative, if the child has more than one; otherwise it is empty.
    ``added``: a job has added it while it ran."""

    parent: JobName
    child: JobName
    when: When
    added: bool
    group: str


class Kinship(Struct, frozen=True):
    """Graph around one job. ``cut_above`` and ``cut_below`` are the number of jobs read if there are more, otherwise
    0."""

    name: JobName
    now: datetime
    jobs: list[Kin]
    needs: list[Bond]
    cut_above: int
    cut_below: int


def kinship(tx: Tx, name: JobName) -> Kinship | None:
    """Return the graph around a job; None if the ledger does not contain it."""
    center = job(tx, name)
    if center is None:
        return None
    # The job itself is the first of both lists. One row more than allowed shows that jobs are left out.
    above = tx.column(_ABOVE, job=center.id, limit=JOBS_MAX + 2)
    below = tx.column(_BELOW, job=center.id, limit=JOBS_MAX + 2)
    drawn = {*above[: JOBS_MAX + 1], *below[: JOBS_MAX + 1]}
    jobs = tx.structs(Kin, _JOBS, jobs=sorted(drawn))
    names = {kin.id: kin.name for kin in jobs}
    rows = tx.rows(_NEEDS, jobs=list(names), limit=NEEDS_MAX)
    return Kinship(
        name=center.name,
        now=tx.current_time(),
        jobs=jobs,
        needs=[Bond(names[parent], names[child], *others) for parent, child, *others in rows],
        cut_above=JOBS_MAX if len(above) > JOBS_MAX + 1 else 0,
        cut_below=JOBS_MAX if len(below) > JOBS_MAX + 1 else 0,
    )
