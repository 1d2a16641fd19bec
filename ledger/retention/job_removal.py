"""Removal of jobs that ended long ago, and then of submissions without jobs.

A job is removed if it ended longer ago than ``keep_s`` and its history is removed already (``retention.removal``). Its
row, its dependencies and groups and its requests go. A removed job is like a new job: a plan that needs it
plans it again. So a job stays while anything needs it. Spared, however old:

- jobs that ``retention.removal`` spares
- jobs of a submission that has not ended, or that ended less than ``keep_s`` ago
- parents of a job that has not ended or ended less than ``keep_s`` ago, and parents that have not met the dependency
- halves of a split job, while that exists, and jobs that a submission or the trial of a breaker waits for

If a child was spared itself, its met dependency on a removed parent is dropped, and it gets the dependencies of its
definition when a submission has it run again. Otherwise a chain in which each day needs the day before would stay
whole.

These rows stay: freshness; existing partitions, which name no job then; and the largest claim of all removed jobs
(``claim_floor``). The next claim of any job is larger, so no claim of a job is issued twice (``lifecycle.claims``).

Races: each transaction that relies on a job locks its row. The removal takes only unlocked rows, in id order, and
checks all of the above in a later statement. A plan that has read a job before it was removed notices that when it
locks or inserts the job, and is repeated from its beginning (``lifecycle.plans``). So is a submission with the id of a
removed submission (``lifecycle.submissions``). A rerun or a cancellation finds no row.

A crash leaves whole jobs, because a batch is one transaction. A submission whose jobs are gone is removed by a later
batch.
"""

from collections.abc import Callable
from typing import NamedTuple

from sluice.jobs.model.submission import COMPENSATION, SubmissionState
from sluice.jobs.states import TERMINAL, State, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import NOW
from sluice.ledger.retention.removal import BEFORE, REST_S, REST_SHARE, SPARED, Removed
from sluice.ledger.stats import state_counts

_ENDED = sql_list(*(state for state in State if state in TERMINAL))
_OPEN_SUBMISSION = f"'{SubmissionState.RECEIVED}', '{SubmissionState.ACTIVE}'"


def _is_old(job: str) -> str:
    """Return SQL that is true if a job ended long ago and its history is removed."""
    return (
        f"({job}.state IN ({_ENDED}) AND {job}.pruned_at > {job}.changed_at AND NOT {job}.saga_open"
        f" AND {job}.changed_at < {BEFORE})"
    )


_IS_NEEDED = f"""
(EXISTS (
     SELECT 1 FROM submission_job JOIN submission ON submission.number = submission_job.submission
     WHERE submission_job.job = job.id AND NOT coalesce(submission.ended_at < {BEFORE}, false))
 OR EXISTS (
     SELECT 1 FROM need JOIN job child ON child.id = need.child
     WHERE need.parent = job.id AND NOT (need.met IS TRUE AND {_is_old("child")}))
 OR EXISTS (SELECT 1 FROM job whole WHERE whole.id = job.bisected_from)
 OR EXISTS (
     SELECT 1 FROM submission WHERE state = '{SubmissionState.ACTIVE}' AND blocking_job = job.id)
 OR EXISTS (
     SELECT 1 FROM submission WHERE state = '{SubmissionState.RECEIVED}' AND blocking_job = job.id)
 OR EXISTS (SELECT 1 FROM app_pause WHERE app_pause.trial = job.id))
"""
_NEXT = f"""
SELECT id, created_at < {BEFORE} FROM job WHERE id > %(after)s ORDER BY id LIMIT %(limit)s
"""
_REMOVABLE = f"""
SELECT job.id FROM job
WHERE job.id = ANY(%(jobs)s) AND CASE WHEN {_is_old("job")} THEN NOT {SPARED} AND NOT {_IS_NEEDED} END
ORDER BY job.id
"""
_HOLD = "SELECT id FROM job WHERE id = ANY(%(jobs)s) ORDER BY id FOR UPDATE SKIP LOCKED"
_CHILDREN = "SELECT DISTINCT child FROM need WHERE parent = ANY(%(jobs)s) AND child <> ALL(%(jobs)s)"
_WITH_OTHER_CHILDREN = (
    "SELECT DISTINCT parent FROM need WHERE parent = ANY(%(jobs)s) AND child <> ALL(%(held)s)"
)

_FORGET_DIGESTS = """
UPDATE job SET digest = NULL
WHERE id IN (SELECT child FROM need WHERE parent = ANY(%(jobs)s) AND child <> ALL(%(jobs)s)) AND digest IS NOT NULL
"""
# The partition was made no earlier than this, also if an earlier claim has acknowledged it.
_DISOWN = """
UPDATE partition SET job = NULL, begun_at = coalesce(partition.begun_at, least(job.begun_at, partition.done_at))
FROM job WHERE partition.job = ANY(%(jobs)s) AND job.id = partition.job AND partition.done_at IS NOT NULL
"""
_RAISE_FLOOR = """
INSERT INTO claim_floor (one, claim) SELECT true, max(claim) FROM job WHERE id = ANY(%(jobs)s)
ON CONFLICT (one) DO UPDATE SET claim = excluded.claim WHERE claim_floor.claim < excluded.claim
"""
_REMOVE = (
    "DELETE FROM partition WHERE job = ANY(%(jobs)s) AND done_at IS NULL",
    "DELETE FROM need WHERE child = ANY(%(jobs)s)",
    "DELETE FROM need WHERE parent = ANY(%(jobs)s)",
    "DELETE FROM gate WHERE child = ANY(%(jobs)s)",
    "DELETE FROM submission_job WHERE job = ANY(%(jobs)s)",
    "DELETE FROM expansion WHERE job = ANY(%(jobs)s)",
)
_REMOVE_JOBS = "DELETE FROM job WHERE id = ANY(%(jobs)s) RETURNING app, state"

_NEXT_SUBMISSIONS = f"""
SELECT number, received_at < {BEFORE} FROM submission WHERE number > %(after)s ORDER BY number LIMIT %(limit)s
"""
# A compensation is removed after its saga, which could otherwise be compensated again.
_IS_UNUSED = f"""
submission.state NOT IN ({_OPEN_SUBMISSION}) AND submission.ended_at < {BEFORE}
AND NOT EXISTS (SELECT 1 FROM submission_job WHERE submission_job.submission = submission.number)
AND NOT EXISTS (
    SELECT 1 FROM submission other
    WHERE other.id = submission.id || '{COMPENSATION}' AND NOT coalesce(other.ended_at < {BEFORE}, false))
AND NOT EXISTS (SELECT 1 FROM submission saga WHERE saga.id = submission.request ->> 'compensates')
"""
_HOLD_SUBMISSIONS = f"""
SELECT number FROM submission WHERE number = ANY(%(numbers)s) AND {_IS_UNUSED}
ORDER BY number FOR UPDATE SKIP LOCKED
"""
_UNUSED = f"SELECT number FROM submission WHERE number = ANY(%(numbers)s) AND {_IS_UNUSED} ORDER BY number"
_REMOVE_FIRINGS = """
DELETE FROM firing WHERE submission IN (SELECT id FROM submission WHERE number = ANY(%(numbers)s))
"""
_REMOVE_SUBMISSIONS = "DELETE FROM submission WHERE number = ANY(%(numbers)s)"


_BEGIN = f"""
INSERT INTO retention_cursor (name, ended_at, job, rests_until) VALUES (%(name)s, '-infinity', 0, {NOW})
ON CONFLICT (name) DO NOTHING
"""
_TAKE_UP = f"""
SELECT job FROM retention_cursor WHERE name = %(name)s AND rests_until <= {NOW} FOR UPDATE SKIP LOCKED
"""
_IS_KNOWN = "SELECT 1 FROM retention_cursor WHERE name = %(name)s"
_LEAVE_OFF = "UPDATE retention_cursor SET job = %(place)s WHERE name = %(name)s"
_REST = f"""
UPDATE retention_cursor SET job = 0, rests_until = {NOW} + make_interval(secs => %(rest_s)s) WHERE name = %(name)s
"""


class RemovedRows(NamedTuple):
    """Result of one step: the number of removed rows, and the number after which the next step continues. None if
    nothing remains."""

    rows: int
    place: int | None


def remove_jobs(tx: Tx, *, keep_s: float, after: int = 0, limit: int) -> RemovedRows:
    """Examine at most ``limit`` jobs, in id order, and remove jobs that ended more than ``keep_s`` ago."""
    found, place = _next(tx, _NEXT, keep_s, after, limit)
    if jobs := _lock(tx, keep_s, _removable(tx, keep_s, found)):
        _remove(tx, jobs)
    return RemovedRows(len(jobs), place)


def remove_submissions(tx: Tx, *, keep_s: float, after: int = 0, limit: int) -> RemovedRows:
    """Examine at most ``limit`` submissions, in the order of their numbers. Remove submissions that ended
    more than ``keep_s`` ago and have no jobs left, with their firings."""
    found, place = _next(tx, _NEXT_SUBMISSIONS, keep_s, after, limit)
    numbers = tx.column(_HOLD_SUBMISSIONS, numbers=found, keep_s=keep_s) if found else []
    if numbers and (numbers := tx.column(_UNUSED, numbers=numbers, keep_s=keep_s)):
        tx.write(_REMOVE_FIRINGS, numbers=numbers)
        tx.write(_REMOVE_SUBMISSIONS, numbers=numbers)
    return RemovedRows(len(numbers), place)


def preview_jobs(tx: Tx, *, keep_s: float, after: int = 0, limit: int) -> RemovedRows:
    """Return how many jobs ``remove_jobs`` would remove now. Nothing is changed."""
    found, place = _next(tx, _NEXT, keep_s, after, limit)
    return RemovedRows(len(_removable(tx, keep_s, found)), place)


def sweep(tx: Tx, *, keep_s: float, limit: int) -> tuple[Removed, bool]:
    """Remove a batch of jobs and a batch of submissions, each from where the last batch ended, unless its sweep rests
    or is locked. Return also whether more may be left."""
    jobs, has_jobs = _sweep(tx, "jobs", remove_jobs, keep_s, limit)
    submissions, has_submissions = _sweep(tx, "submissions", remove_submissions, keep_s, limit)
    return Removed(removed_jobs=jobs, submissions=submissions), has_jobs or has_submissions


def _sweep(
    tx: Tx, name: str, step: Callable[..., RemovedRows], keep_s: float, limit: int
) -> tuple[int, bool]:
    if not tx.rows(_IS_KNOWN, name=name):
        tx.write(_BEGIN, name=name)
    taken = tx.column(_TAKE_UP, name=name)
    if not taken:
        return 0, False
    rows, place = step(tx, keep_s=keep_s, after=taken[0], limit=limit)
    if place is None:
        tx.write(_REST, name=name, rest_s=min(REST_S, keep_s * REST_SHARE))
        return rows, False
    tx.write(_LEAVE_OFF, name=name, place=place)
    return rows, True


def _next(tx: Tx, sql: str, keep_s: float, after: int, limit: int) -> tuple[list[int], int | None]:
    """Return the next rows that are old enough, and the place of the last row. None if no old row follows."""
    rows = tx.rows(sql, keep_s=keep_s, after=after, limit=limit)
    old = [number for number, is_old in rows if is_old]
    return old, rows[-1][0] if old and len(rows) == limit else None


def _removable(tx: Tx, keep_s: float, jobs: list[int]) -> list[int]:
    return tx.column(_REMOVABLE, jobs=jobs, keep_s=keep_s) if jobs else []


def _lock(tx: Tx, keep_s: float, jobs: list[int]) -> list[int]:
    """Lock these jobs and their children. Return the jobs of which all children are locked and that may still be
    removed."""
    if not jobs:
        return []
    jobs = tx.column(_HOLD, jobs=jobs)
    children = tx.column(_HOLD, jobs=tx.column(_CHILDREN, jobs=jobs))
    busy = {*tx.column(_WITH_OTHER_CHILDREN, jobs=jobs, held=[*jobs, *children])}
    return _removable(tx, keep_s, [job for job in jobs if job not in busy])


def _remove(tx: Tx, jobs: list[int]) -> None:
    """Remove these jobs. The caller has locked them and their children."""
    tx.write(_FORGET_DIGESTS, jobs=jobs)
    tx.write(_DISOWN, jobs=jobs)
    tx.write(_RAISE_FLOOR, jobs=jobs)
    for sql in _REMOVE:
        tx.write(sql, jobs=jobs)
    state_counts.forget(tx, [tuple(row) for row in tx.rows(_REMOVE_JOBS, jobs=jobs)])
