"""Tasks of the task API: numbered when they are opened, and archived when their outcome is collected.

Tasks enter as submissions, and tasks without a key of their own get a number (``open_tasks``). After a job has ended,
it is uncollected until its outcome is archived (``archive``).

Invariants of numbers: no number of an app is given out twice, even if its job was removed. A number that a user has
used as a key is skipped. The counter's row is locked until the tasks are in the ledger. So if two transactions open
tasks at the same time, the second gets higher numbers.

Invariants of collection: a job that must be collected is uncollected from its end until ``archived_at`` is set. That is
not a state; the outcome is the state. A rerun makes the job uncollected again. A chunk that has failed and is about to
be split has no outcome yet. Once it is split, its halves are collected in its place.

Race: a reader archives an outcome some time after it was read. By then the job may have been run again, or another
reader may have archived it. So the caller passes the end that it has seen: state, claim and time. A job with another
end is left unchanged. Rows are locked in id order.

A crash while tasks are opened leaves nothing or everything, because opening is one transaction. If the same submission
is opened again, its existing keys are returned. A crash while jobs are archived leaves nothing, or an uncollected job
with a result that is handed over once more.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import JSON, Submission, SubmissionState, conflict
from sluice.jobs.states import LIVE, RERUN, RERUNNABLE, SPLIT, State, sql_list
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.state_ranges import of_app
from sluice.ledger.database.transitions import NOW
from sluice.ledger.job_graph.shared_kwargs import KWARGS
from sluice.ledger.job_graph.work_ids import is_divisible
from sluice.ledger.lifecycle import submissions
from sluice.ledger.lifecycle.claims import ID_FLOOR
from sluice.ledger.lifecycle.requests import BODY, read

# The id of a refused submission is free.
_STANDING = f"""
SELECT id, {BODY} FROM submission WHERE id = ANY(%(ids)s) AND state <> '{SubmissionState.REFUSED}'
"""
_HOLD_COUNTER = f"""
INSERT INTO task_sequence (app, last) VALUES (%(app)s, 0) ON CONFLICT (app) DO UPDATE SET last = task_sequence.last
RETURNING greatest(last, {ID_FLOOR})
"""
# The series ends with the number that fills the page. OFFSET keeps the look-up by the index, key by key.
_FREE = """
SELECT number FROM (SELECT generate_series(%(last)s::bigint + 1, 9223372036854775807) AS number) series
WHERE NOT EXISTS (SELECT 1 FROM job WHERE job.app = %(app)s AND job.key = number::text OFFSET 0)
  AND number::text NOT IN (SELECT unnest(%(given)s::text[]))
LIMIT %(count)s
"""
_ADVANCE = "UPDATE task_sequence SET last = %(last)s WHERE app = %(app)s"


class TaskBatch(Struct, frozen=True, kw_only=True):
    """Batch of tasks: a submission that names no keys yet, and its keys; None stands for a key that gets a number."""

    submission: Submission
    keys: tuple[str | None, ...]


def open_tasks(tx: Tx, app: str, parcels: Sequence[TaskBatch]) -> list[tuple[str, ...]]:
    """Admit the batches, with numbers in their order; return the keys of each. An existing batch is left as it is."""
    there = standing(tx, parcels)
    new = _numbered(tx, app, [batch for batch in parcels if batch.submission.require_id() not in there])
    # If two transactions open the same tasks at the same time, they ask for different numbers. That is no conflict.
    taken = submissions.admit(tx, new).new
    keys = {each.require_id(): each.named_keys or () for each in new if each.id in taken}
    # If a concurrent transaction was first with a batch, only the numbers for it are lost.
    keys |= there if len(taken) == len(new) else standing(tx, parcels)
    return [keys[batch.submission.require_id()] for batch in parcels]


def standing(tx: Tx, parcels: Sequence[TaskBatch]) -> Mapping[str, tuple[str, ...]]:
    """Return the keys of the submissions that the ledger has, by id. Raise Conflict if they differ from the batches."""
    by_id = {parcel.submission.require_id(): parcel for parcel in parcels}
    found = {id_: read(body)[0] for id_, body in tx.rows(_STANDING, ids=list(by_id))}
    keys: dict[str, tuple[str, ...]] = {}
    for id_, submission in found.items():
        opened = by_id[id_]
        keys[id_] = submission.named_keys or () if submission else ()
        same_app = submission is not None and submission.app == opened.submission.app
        if not same_app or len(keys[id_]) != len(opened.keys):
            raise conflict(opened.submission)
    return keys


def reserve(tx: Tx, app: str, count: int, given: Sequence[str]) -> list[str]:
    """Return ``count`` numbers that no task of the app has had, and that are not among the ``given`` keys."""
    if not count:
        return []
    last = tx.column(_HOLD_COUNTER, app=app)[0]
    numbers = tx.column(_FREE, app=app, last=last, count=count, given=[*given])
    tx.write(_ADVANCE, app=app, last=numbers[-1])
    return [str(number) for number in numbers]


def _numbered(tx: Tx, app: str, batches: Sequence[TaskBatch]) -> list[Submission]:
    """Return the submissions of these batches with all of their keys: the given ones, and reserved numbers."""
    given = [key for batch in batches for key in batch.keys if key is not None]
    numbers = iter(reserve(tx, app, sum(batch.keys.count(None) for batch in batches), given))
    return [
        _with_keys(batch.submission, [next(numbers) if key is None else key for key in batch.keys])
        for batch in batches
    ]


def _with_keys(submission: Submission, keys: list[str]) -> Submission:
    if len(keys) == 1:
        return replace(submission, key=keys[0])
    return replace(submission, keys=tuple(keys))


#: States of jobs that may be collected. A job that was split is not collected; its halves are.
COLLECTED = RERUNNABLE

#: True if the job is yet to be collected. The index ``job_uncollected`` has the same condition.
UNCOLLECTED = (
    "(job.needs_collection AND job.archived_at IS NULL"
    f" AND job.state IN ({sql_list(*(state for state in State if state in COLLECTED))}))"
)
_COME_TO_AN_END = f"{UNCOLLECTED} AND NOT (job.{SPLIT.guard} AND {is_divisible('job')})"
# One state at a time, so that the index has the jobs in id order and a page costs only its own rows. No other index has
# the order of ``id + 0``, so the choice does not depend on the statistics. It is one statement, because the rounds must
# belong to the end that is returned, and so to the job's present life.
_FINISHED = f"""
SELECT job.id, job.app, job.key, job.state, job.claim, job.changed_at AS ended_at,
       coalesce({KWARGS}, '{{}}') AS kwargs,
       ARRAY(
           SELECT json_build_object(
               'round', round.round, 'claim', round.claim, 'ending', round.ending, 'exit_code', round.exit_code,
               'output', round.output, 'stderr', round.stderr, 'error', round.error)
           FROM round WHERE round.job = job.id AND round.claim > coalesce((
               SELECT max(transition.claim) FROM transition
               WHERE transition.job = job.id AND transition.verb = '{RERUN.name}'), 0)
           ORDER BY round.claim) AS rounds
FROM job
WHERE job.app = %(app)s AND job.state = %(state)s AND job.id + 0 > %(after)s AND {_COME_TO_AN_END}
ORDER BY job.id + 0 LIMIT %(limit)s
"""
# By the primary key, independent of the statistics (as in ``transitions.guard``).
_HOLD_SEEN = f"""
SELECT job.id
FROM job JOIN unnest(%(jobs)s::bigint[], %(states)s::text[], %(claims)s::bigint[], %(ended_at)s::timestamptz[])
         AS seen (id, state, claim, ended_at) USING (id)
WHERE CASE WHEN {_COME_TO_AN_END} THEN true END
  AND job.state = seen.state AND job.claim = seen.claim AND job.changed_at = seen.ended_at
ORDER BY job.id FOR UPDATE OF job
"""
_HOLD_NAMED = f"""
SELECT job.id FROM job JOIN unnest(%(app)s::text[], %(key)s::text[]) AS named (app, key) USING (app, key)
WHERE CASE WHEN {_COME_TO_AN_END} THEN true END ORDER BY job.id FOR UPDATE OF job
"""
_HOLD_ENDED = f"""
SELECT job.id FROM job WHERE job.app = %(app)s AND job.state = %(state)s AND {_COME_TO_AN_END}
ORDER BY job.id + 0 LIMIT %(limit)s FOR UPDATE OF job
"""
_ARCHIVE = f"UPDATE job SET archived_at = {NOW} WHERE id = ANY(%(jobs)s)"

_UNFINISHED = " UNION ALL ".join(
    f"SELECT state FROM job WHERE {condition} AND needs_collection"
    for condition in of_app("%(app)s::text", LIVE - {State.EXPECTED})
)
# One statement, so that a task that is planned concurrently is counted once, as a job or as unplanned. The request of a
# submission that was inserted by SQL may be any JSON.
_COUNTS = f"""
SELECT state, count(*) FROM ({_UNFINISHED}) unfinished GROUP BY state
UNION ALL
SELECT state, count(*) FROM job WHERE app = %(app)s AND {UNCOLLECTED} GROUP BY state
UNION ALL
SELECT NULL, sum(
    CASE WHEN jsonb_typeof(request -> 'keys') = 'array' THEN jsonb_array_length(request -> 'keys') ELSE 1 END)
FROM submission WHERE app = %(app)s AND state = '{SubmissionState.RECEIVED}'
"""


class TaskRound(Struct, frozen=True, kw_only=True):
    """Claim of the job in its present life. A round that was handed back has several claims."""

    round: int
    claim: int
    ending: str | None
    exit_code: int | None
    output: str | None
    stderr: str | None
    error: str | None


class Finished(Struct, frozen=True, kw_only=True):
    """Job that has ended and is uncollected. ``claim`` and ``ended_at`` identify this end."""

    id: int
    app: str
    key: str
    state: State
    claim: int
    ended_at: datetime
    kwargs: Mapping[str, JSON]
    rounds: tuple[TaskRound, ...]

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)

    @property
    def output(self) -> str | None:
        """The output of the last round that has any."""
        return _last(each.output for each in self.rounds)

    @property
    def error(self) -> str | None:
        """The error of the last round that has any. If the job succeeded later, it is the error of an earlier round."""
        return _last(each.error for each in self.rounds)


class TaskCounts(Struct, frozen=True):
    """Numbers of jobs of an app that are left.

    ``states`` has, by state, the jobs that are yet to end and be collected, and the uncollected jobs. ``unplanned`` are
    requested jobs that have no state yet.
    """

    states: Mapping[State, int]
    unplanned: int

    @property
    def left(self) -> int:
        return sum(self.states.values()) + self.unplanned


def finished(tx: Tx, app: str, state: State, *, after: int = 0, limit: int) -> list[Finished]:
    """Return a page of the app's uncollected jobs that ended in this state, in id order, after the id ``after``."""
    return tx.structs(Finished, _FINISHED, app=app, state=state, after=after, limit=limit)


def archive(tx: Tx, seen: Sequence[Finished], *, whole: bool = False) -> list[int]:
    """Archive the jobs that still have the end that was seen; with ``whole``, all or none. Return their ids."""
    rows = list(dict.fromkeys((each.id, each.state, each.claim, each.ended_at) for each in seen))
    held = tx.column(_HOLD_SEEN, **arrays(rows, "jobs", "states", "claims", "ended_at")) if rows else []
    return [] if whole and len(held) < len(rows) else _archive(tx, held)


def archive_named(tx: Tx, names: Sequence[JobName]) -> list[int]:
    """Archive the uncollected jobs among these, whatever their outcome; return their ids."""
    return _archive(tx, tx.column(_HOLD_NAMED, **arrays(names, "app", "key")))


def archive_ended(tx: Tx, app: str, state: State, *, limit: int) -> list[int]:
    """Archive at most ``limit`` of the app's uncollected jobs that ended in this state; return their ids."""
    return _archive(tx, tx.column(_HOLD_ENDED, app=app, state=state, limit=limit))


def counts(tx: Tx, app: str) -> TaskCounts:
    """Return the numbers of jobs that are left. Jobs without collection do not count: they would be left
    indefinitely."""
    states: dict[State, int] = {}
    unplanned = 0
    for state, count in tx.rows(_COUNTS, app=app):
        if state is None:
            unplanned = int(count or 0)
        else:
            states[State(state)] = count
    return TaskCounts(states, unplanned)


def _archive(tx: Tx, held: list[int]) -> list[int]:
    if held:
        tx.write(_ARCHIVE, jobs=held)
    return held


def _last(texts: Iterable[str | None]) -> str | None:
    """Return the last text that is not empty."""
    return next(filter(None, reversed([*texts])), None)
