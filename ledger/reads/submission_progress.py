"""Progress of submissions: their present states, their jobs, and the jobs that can be run again.

- ``status`` and ``recent``: submissions and their present states.
- ``progress``, ``work`` and ``last_outputs``: jobs of one submission by app and state, running jobs, errors, the time
  that the work took, and the output of failed jobs.
- ``held_up``: the job that a submission waits for while none of its jobs runs.
- ``shares``: progress of many submissions, in a time that does not grow with their size.
- ``of_job`` and ``of_submission``: jobs that can be run again, and the code of their last runs.

``shares`` counts a small submission. For a larger one, the range of its jobs' ids is cut into equal stretches. The
first few jobs that it wants in each stretch are read along the primary key of ``submission_job``. Their density
determines the number of jobs in the stretch, and a single job determines the state. If a submission wants all ids of
its range, as most do, the total is exact.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import DEAD, LIVE, UNSUCCESSFUL, State, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import NOW
from sluice.ledger.lifecycle.requests import KEYS
from sluice.ledger.reads import fleet

# The request has the options as the submitter wrote them.
_COLUMNS = f"""
number, id, app, state, reason, request->>'key' AS key, {KEYS} AS keys,
received_at, ended_at, paused_at, request->>'start' AS start, request->>'end' AS end,
request->>'mode' AS mode, request->>'branch' AS branch,
request->'by' AS by
"""
_STATUS = f"SELECT {_COLUMNS} FROM submission WHERE id = %(id)s"
_RECENT = f"SELECT {_COLUMNS} FROM submission ORDER BY number DESC LIMIT %(limit)s"


class SubmissionStatus(Struct, frozen=True):
    """Present state of a submission."""

    #: Number in the order of arrival.
    number: int
    #: Id of the submission.
    id: str
    #: Name of the app.
    app: str
    #: ``received``, ``active``, ``succeeded``, ``failed``, ``cancelled`` or ``refused``.
    state: SubmissionState
    #: Reason why it was refused.
    reason: str | None
    #: The one requested key. None if there are several, or if the app's definition determines the jobs.
    key: str | None
    #: Number of requested keys. 0 if the app's definition determines the jobs.
    keys: int
    #: Time of arrival.
    received_at: datetime
    #: Time of the end. None while it is open.
    ended_at: datetime | None
    #: Time since which it is paused.
    paused_at: datetime | None = None
    #: First requested partition.
    start: str | None = None
    #: Last requested partition.
    end: str | None = None
    #: Mode of the submission.
    mode: str | None = None
    #: Branch of its partitions.
    branch: str | None = None
    #: Requested slices of a table with a second dimension. None: all.
    by: Mapping[str, str | tuple[str, ...]] | None = None

    @property
    def is_open(self) -> bool:
        """True until the submission has ended."""
        return self.state in (SubmissionState.RECEIVED, SubmissionState.ACTIVE)

    @property
    def is_paused(self) -> bool:
        """True if the submission is open and paused. An ended submission may have pushed jobs that are held back; that
        is shown by these jobs."""
        return self.is_open and self.paused_at is not None


def status(tx: Tx, id: str) -> SubmissionStatus | None:
    found = tx.structs(SubmissionStatus, _STATUS, id=id)
    return found[0] if found else None


def recent(tx: Tx, limit: int) -> list[SubmissionStatus]:
    return tx.structs(SubmissionStatus, _RECENT, limit=limit)


_TALLY = """
SELECT job.app, job.state, count(*) FROM submission_job JOIN job ON job.id = submission_job.job
WHERE submission_job.submission = %(number)s GROUP BY job.app, job.state ORDER BY job.app, job.state
"""
_RUNNING = f"""
SELECT job.app, job.key, job.round, job.changed_at AS since FROM submission_job JOIN job ON job.id = submission_job.job
WHERE submission_job.submission = %(number)s AND job.state = '{State.RUNNING}'
ORDER BY job.changed_at, job.id LIMIT %(limit)s
"""
_LAST_ERROR = """
LEFT JOIN LATERAL (
    SELECT error FROM round WHERE round.job = job.id AND error IS NOT NULL ORDER BY claim DESC LIMIT 1) last ON true
"""
_RETRYING = f"""
SELECT job.app, job.key, job.state, job.round, last.error
FROM submission_job JOIN job ON job.id = submission_job.job {_LAST_ERROR}
WHERE submission_job.submission = %(number)s AND job.state = '{State.WAITING}' AND job.round > 0
ORDER BY job.changed_at, job.id LIMIT %(limit)s
"""
# Jobs that ended because of a parent come last. Usually that parent is listed too, and its error explains more.
_TROUBLES = f"""
SELECT job.app, job.key, job.state, job.round, last.error
FROM submission_job JOIN job ON job.id = submission_job.job {_LAST_ERROR}
WHERE submission_job.submission = %(number)s AND job.state IN (
    {sql_list(State.FAILED, State.FATAL, State.TIMED_OUT, State.EXPIRED, State.UPSTREAM_FAILED)})
ORDER BY job.state = '{State.UPSTREAM_FAILED}', job.changed_at, job.id LIMIT %(limit)s
"""
_LAST_OUTPUTS = f"""
SELECT job.app, job.key, coalesce(last.output, '') AS output, coalesce(last.stderr, '') AS stderr
FROM submission_job JOIN job ON job.id = submission_job.job
    JOIN LATERAL (
        SELECT output, stderr FROM round WHERE round.job = job.id ORDER BY claim DESC LIMIT 1) last ON true
WHERE submission_job.submission = %(number)s
  AND job.state IN ({sql_list(State.FAILED, State.FATAL, State.TIMED_OUT)})
ORDER BY job.changed_at, job.id LIMIT %(limit)s
"""
# A job that existed before belongs to the submission too, but its earlier rounds belong to other submissions.
_WORK = """
SELECT job.app, count(*) AS runs, min(round.running_at) AS began_at, max(round.executed_at) AS ended_at,
       coalesce(sum(coalesce(round.took_s, extract(epoch FROM round.executed_at - round.running_at))), 0)::float8
       AS work_s
FROM submission_job JOIN submission ON submission.number = submission_job.submission
    JOIN job ON job.id = submission_job.job
     JOIN round ON round.job = job.id AND round.running_at >= submission.received_at
WHERE submission_job.submission = %(number)s GROUP BY job.app ORDER BY min(round.running_at)
"""
#: Maximum number of jobs that are listed of each kind.
TOLD_MAX = 10


class ProgressRun(Struct, frozen=True):
    """Running job."""

    app: str
    key: str
    round: int
    since: datetime


class Trouble(Struct, frozen=True):
    """Job that ended badly or will be retried, with the last error of its rounds."""

    app: str
    key: str
    state: State
    round: int
    error: str | None


class AppDuration(Struct, frozen=True):
    """Time that the jobs of one app took: from the first start to the last end, and the sum of all runs
    (``work_s``)."""

    app: str
    runs: int
    began_at: datetime
    ended_at: datetime | None
    work_s: float


class SubmissionProgress(Struct, frozen=True, kw_only=True):
    """Progress of a submission. ``state_count`` counts its jobs by app and state. ``running``, ``retrying`` and
    ``troubles``
    are the first jobs of each kind. ``planners`` is the number of living workers that can plan it."""

    status: SubmissionStatus
    now: datetime
    planners: int
    tally: Mapping[str, Mapping[State, int]]
    running: list[ProgressRun]
    retrying: list[Trouble]
    troubles: list[Trouble]

    @property
    def counts(self) -> dict[State, int]:
        """Number of jobs by state, over all apps."""
        counts: dict[State, int] = {}
        for states in self.tally.values():
            for state, count in states.items():
                counts[state] = counts.get(state, 0) + count
        return counts


def progress(tx: Tx, id: str, *, planner_queue: str) -> SubmissionProgress | None:
    """Return the progress of a submission; None if it does not exist."""
    found = status(tx, id)
    if found is None:
        return None
    tally: dict[str, dict[State, int]] = {}
    for app, state, count in tx.rows(_TALLY, number=found.number):
        tally.setdefault(app, {})[State(state)] = count
    return SubmissionProgress(
        status=found,
        now=tx.current_time(),
        planners=fleet.count_servers(tx, planner_queue),
        tally=tally,
        running=tx.structs(ProgressRun, _RUNNING, number=found.number, limit=TOLD_MAX),
        retrying=tx.structs(Trouble, _RETRYING, number=found.number, limit=TOLD_MAX),
        troubles=tx.structs(Trouble, _TROUBLES, number=found.number, limit=TOLD_MAX),
    )


def work(tx: Tx, number: int) -> list[AppDuration]:
    """Return the work by app, in the order of the first start. An app without runs is left out."""
    return tx.structs(AppDuration, _WORK, number=number)


class LastOutput(Struct, frozen=True):
    """Output of the last round of a failed job."""

    app: str
    key: str
    output: str
    stderr: str


def last_outputs(tx: Tx, number: int) -> list[LastOutput]:
    """Return the outputs of the failed jobs among ``SubmissionProgress.troubles``."""
    return tx.structs(LastOutput, _LAST_OUTPUTS, number=number, limit=TOLD_MAX)


#: Seconds after the end of a worker's lease in which its jobs count as running: 5. The groomer takes them back within
#: about a second, if there is one.
LOST_AFTER_S = 5.0
# A job whose worker is lost does not run, and neither does one that waits for the planner's decision.
_HELD_UP = f"""
SELECT job.app, job.key FROM submission JOIN job ON job.id = submission.blocking_job
WHERE submission.id = %(id)s AND submission.state = '{SubmissionState.ACTIVE}'
  AND job.state IN ({sql_list(*sorted(LIVE))}) AND NOT EXISTS (
    SELECT 1 FROM submission_job JOIN job own ON own.id = submission_job.job
         LEFT JOIN worker ON worker.id = own.worker
    WHERE submission_job.submission = submission.number AND own.state = '{State.RUNNING}'
      AND (own.next_poll_at IS NOT NULL OR worker.left_at IS NULL
           AND worker.lease_until > {NOW} - make_interval(secs => {LOST_AFTER_S})))
"""


def held_up(tx: Tx, id: str) -> JobName | None:
    """Return a job that the planned submission waits for; None if one of its jobs runs or none is awaited."""
    found = tx.rows(_HELD_UP, id=id)
    return JobName(*found[0]) if found else None


#: Maximum number of jobs that are counted, and number of stretches that are read of a larger submission.
EXACT_MAX, PROBES = 5000, 1000
#: Limits for each of many submissions: jobs that are counted, and stretches that are read.
EXACT_OF_MANY, PROBES_OF_MANY = 500, 100
#: Jobs that are read in each stretch. If there are fewer, they are all of the stretch.
_NEAR = 5

_COUNT = """
SELECT asked.number, job.state, count(*)::float8
FROM unnest(%(numbers)s::bigint[]) AS asked (number)
     CROSS JOIN LATERAL (
         SELECT submission_job.job FROM submission_job WHERE submission_job.submission = asked.number
             LIMIT %(limit)s) wanted
     JOIN job ON job.id = wanted.job
GROUP BY asked.number, job.state
"""
# The state is read from the job at a random but constant place in the stretch. The first job would not do: if jobs of
# several kinds were made in turns, the first of every stretch may be of the same kind.
# The density is the number of jobs found, divided by the number of ids read. The last job found is left out of both,
# because the search ended there by its being found.
_DENSE = f"({_NEAR} - 1.0) / (near.last - stretch.first) * (stretch.behind - stretch.first)"
_PROBE = f"""
WITH ends AS MATERIALIZED (
    SELECT number, (SELECT min(job) FROM submission_job WHERE submission = number) AS low,
           (SELECT max(job) FROM submission_job WHERE submission = number) + 1 AS high
    FROM unnest(%(numbers)s::bigint[]) AS asked (number)
), stretch AS MATERIALIZED (
    SELECT number, low + (high - low) * step / %(probes)s AS first,
           low + (high - low) * (step + 1) / %(probes)s AS behind, hashint4(step) & 1073741823 AS chance
    FROM ends CROSS JOIN generate_series(0, %(probes)s - 1) step
)
SELECT stretch.number, job.state, sum(CASE WHEN near.found < {_NEAR} THEN near.found ELSE {_DENSE} END)::float8
FROM stretch
    CROSS JOIN LATERAL (
        SELECT count(*) AS found, min(job) AS next, max(job) AS last FROM (
            SELECT submission_job.job FROM submission_job
            WHERE submission_job.submission = stretch.number AND submission_job.job >= stretch.first
                AND submission_job.job < stretch.behind
            ORDER BY submission_job.job LIMIT {_NEAR}) looked) near
    CROSS JOIN LATERAL (
        SELECT min(submission_job.job) AS job FROM submission_job
        WHERE submission_job.submission = stretch.number AND submission_job.job < stretch.behind
          AND submission_job.job >= stretch.first + chance %% greatest(stretch.behind - stretch.first, 1)) other
    JOIN job ON job.id = coalesce(other.job, near.next)
GROUP BY 1, 2
"""


class Share(Struct, frozen=True, kw_only=True):
    """Jobs of a submission by state; ``about``: the numbers are estimates."""

    states: Mapping[State, int]
    about: bool

    @property
    def total(self) -> int:
        return sum(self.states.values())

    @property
    def ended(self) -> int:
        return sum(count for state, count in self.states.items() if state not in LIVE)

    @property
    def failed(self) -> int:
        """Number of failed jobs. Skipped and cancelled jobs have not failed; for a split job, its halves count."""
        bad = DEAD - {State.SKIPPED, State.SPLIT, State.CANCELLED}
        return sum(count for state, count in self.states.items() if state in bad)


def shares(tx: Tx, numbers: Sequence[int], *, exact_max: int, probes: int) -> dict[int, Share]:
    """Return the share of each submission by its number."""
    counted: dict[int, dict[State, float]] = {number: {} for number in numbers}
    for number, state, count in tx.rows(_COUNT, numbers=[*numbers], limit=exact_max + 1) if numbers else []:
        counted[number][State(state)] = count
    large = [number for number, states in counted.items() if sum(states.values()) > exact_max]
    counted |= {number: {} for number in large}
    for number, state, count in tx.rows(_PROBE, numbers=large, probes=probes) if large else []:
        counted[number][State(state)] = count
    return {
        number: Share(states={state: round(count) for state, count in states.items()}, about=number in large)
        for number, states in counted.items()
    }


_UNSUCCESSFUL = sql_list(*sorted(UNSUCCESSFUL))

_LAST_RUN = """
LEFT JOIN LATERAL (
    SELECT round.digest, worker.code FROM round LEFT JOIN worker ON worker.id = round.worker
    WHERE round.job = job.id ORDER BY round.claim DESC LIMIT 1) last ON true
"""
_OF_SUBMISSION = f"""
SELECT job.app, job.key, job.state, last.digest, last.code,
       job.output_table IS NOT NULL AS is_step, job.pruned_at IS NOT NULL AND last.digest IS NULL AS is_pruned
FROM submission JOIN submission_job ON submission_job.submission = submission.number
    JOIN job ON job.id = submission_job.job {_LAST_RUN}
WHERE submission.id = %(id)s AND job.state IN ({_UNSUCCESSFUL}) ORDER BY job.id
"""
_OF_JOB = f"""
SELECT job.app, job.key, job.state, last.digest, last.code, job.output_table IS NOT NULL AS is_step,
       job.pruned_at IS NOT NULL AND last.digest IS NULL AS is_pruned
FROM job {_LAST_RUN}
WHERE job.app = %(app)s AND job.key = %(key)s
"""


class Ran(Struct, frozen=True):
    """Job with its last run. ``digest`` is of the definition that it ran by and ``code`` is the version of the worker's
    code; None if it never ran.

    ``is_step``: it makes partitions. ``is_pruned``: its history was removed, so the definition of its last run is
    unknown.
    """

    app: str
    key: str
    state: State
    digest: str | None
    code: str | None
    is_step: bool
    is_pruned: bool = False

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


def of_job(tx: Tx, name: JobName) -> Ran | None:
    found = tx.structs(Ran, _OF_JOB, app=name.app, key=name.key)
    return found[0] if found else None


def of_submission(tx: Tx, id: str) -> list[Ran]:
    """Return the unsuccessful jobs of a submission."""
    return tx.structs(Ran, _OF_SUBMISSION, id=id)
