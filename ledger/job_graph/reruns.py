"""Rerun of finished jobs: they wait again.

This happens by request, because a dead parent is rerun, or because a cancelled job is requested again. A rerun job
starts a new life: its tries start at zero, its claims continue to count, and its history stays. A start time from its
terms stays too, but a pending retry delay is dropped. A saga starts a new flight with its own journal. The exception is
a flight that could not be undone, which continues.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import DEAD, RERUN, TERMINAL, UNSUCCESSFUL, By, State, sql_list
from sluice.ledger.database.connection import ChangedMeanwhile, Tx
from sluice.ledger.database.transitions import HOLD_JOBS, NOW, interval, move
from sluice.ledger.job_graph import dependencies
from sluice.ledger.job_graph.demand import forget_ended

_DEAD = sql_list(*sorted(DEAD))
_ENDED = sql_list(*sorted(TERMINAL))

# Skipped by its app's filter and not because of its parents. Such a job has no gates.
_FILTERED = (
    f"(parent.state = '{State.SKIPPED}' AND NOT EXISTS (SELECT 1 FROM gate WHERE gate.child = parent.id))"
)

# From the jobs to revive upstream: the dead parents that would make them ``upstream_failed`` again. The states of the
# parents decide that, because the needs of these jobs will be counted again: a parent that was running when the job
# began may have failed since.
_DEAD_ANCESTORS = f"""
WITH RECURSIVE up (id) AS (
    SELECT unnest(%(jobs)s::bigint[])
    UNION
    SELECT need.parent FROM up JOIN need ON need.child = up.id JOIN job parent ON parent.id = need.parent
    WHERE {dependencies.VERDICT} IS FALSE AND parent.state IN ({_DEAD}) AND NOT {_FILTERED}
)
SELECT id FROM up
"""
# Steps are left out: their partitions may belong to other jobs by now, so they are planned again with their range.
_IS_NO_STEP = "job.output_table IS NULL"
_DEAD_CHILDREN = f"""
WITH RECURSIVE down (id) AS (
    SELECT unnest(%(jobs)s::bigint[])
    UNION
    SELECT need.child FROM down JOIN need ON need.parent = down.id JOIN job ON job.id = need.child
    WHERE need.met = false AND job.state IN ('{State.UPSTREAM_FAILED}', '{State.SKIPPED}') AND {_IS_NO_STEP}
"""
# Downstream: jobs that ended only because these jobs had ended.
_DEAD_DESCENDANTS = f"{_DEAD_CHILDREN}) SELECT id FROM down"
# Of these, the jobs that a submission requests that has not been cancelled, and their descendants.
_REQUESTED_DESCENDANTS = f"""
{_DEAD_CHILDREN}
      AND EXISTS (
          SELECT 1 FROM submission_job JOIN submission ON submission.number = submission_job.submission
          WHERE submission_job.job = job.id AND submission.state <> '{SubmissionState.CANCELLED}')
)
SELECT id FROM down ORDER BY id
"""
_ALL_DESCENDANTS = f"""
WITH RECURSIVE down (id) AS (
    SELECT unnest(%(jobs)s::bigint[])
    UNION
    SELECT need.child FROM down JOIN need ON need.parent = down.id JOIN job ON job.id = need.child
    WHERE job.state IN ({_ENDED}) AND {_IS_NO_STEP}
)
SELECT id FROM down
"""
_UNCHANGED = f"""
SELECT job.id FROM job JOIN unnest(%(jobs)s::bigint[], %(claims)s::bigint[]) AS given (id, claim) USING (id)
WHERE job.state = '{State.SUCCEEDED}' AND job.claim = given.claim ORDER BY job.id
"""
_UNSUCCESSFUL = f"""
SELECT id FROM job WHERE id = ANY(%(jobs)s) AND state IN ({sql_list(*sorted(UNSUCCESSFUL))}) ORDER BY id
"""
# Steps and undos are left out: partitions are planned again with their range, and undos belong to a compensation.
_IS_PLAIN = f"{_IS_NO_STEP} AND job.undoes IS NULL"
_WITH_UPSTREAM_FAILED = f"""
WITH RECURSIVE down (id) AS (
    SELECT id FROM job
    WHERE id = ANY(%(jobs)s) AND state IN ({sql_list(*sorted(UNSUCCESSFUL))}) AND {_IS_PLAIN}
    UNION
    SELECT need.child FROM down JOIN need ON need.parent = down.id JOIN job ON job.id = need.child
    WHERE need.met = false AND job.state = '{State.UPSTREAM_FAILED}' AND {_IS_PLAIN}
)
SELECT job.id, job.app, job.key FROM down JOIN job ON job.id = down.id ORDER BY job.id
"""
_KEEP = "SELECT id FROM job WHERE id = ANY(%(jobs)s) ORDER BY id FOR KEY SHARE"
_CANCELLED = f"SELECT id FROM job WHERE id = ANY(%(jobs)s) AND state = '{State.CANCELLED}'"

_NOT_BEFORE = "CASE WHEN job.round = 0 THEN job.not_before END"
_RERUN = move(
    RERUN,
    By.PLANNER,
    sets="round = 0, fails = 0, timeouts = 0, losses = 0, unblocked = job.saga_open, "
    f"dispatched_at = NULL, event = NULL, not_before = {_NOT_BEFORE}, "
    f"late = false, late_at = greatest({_NOT_BEFORE}, {NOW}) + {interval('job.due_within_s')}, "
    "effective_deadline = NULL, consecutive_fails = 0, paused = false, archived_at = NULL, "
    "flight = job.flight + (NOT job.saga_open)::int, abort_reason = NULL",
    forgets_work=True,
    note="CASE WHEN id = ANY(%(named)s::bigint[]) THEN %(note)s::text END",
)
#: Note in the history of a job that is run again because its last success is too old.
STALE_INPUT = "a stale input"
# Any transaction may make ready a child that may run, without reading its gates. Such a transaction waits
# for these rows, or skips them, and then finds the child closed.
_HOLD_OPEN_CHILDREN = f"""
SELECT id FROM job
WHERE id IN (SELECT child FROM need WHERE parent = ANY(%(jobs)s))
  AND CASE WHEN state = '{State.WAITING}' THEN unblocked AND NOT saga_open END
ORDER BY id FOR UPDATE
"""
# Written to go from the parents to their children. The statistics on waiting jobs do not include the 100,000 jobs that
# this very transaction may have set waiting (see ``transitions.guard``).
_WAITING_CHILDREN = f"""
SELECT DISTINCT need.child FROM unnest(%(jobs)s::bigint[]) AS given (id)
JOIN need ON need.parent = given.id JOIN job ON job.id = need.child
WHERE CASE WHEN job.state = '{State.WAITING}' THEN NOT job.saga_open END
"""


class RerunJobs(NamedTuple):
    """Jobs that run again.

    ``jobs`` wait again. ``touched`` are these jobs and the jobs that wait for them. All of them were recounted, which
    may also have settled ends of their other parents. So the caller must make them ready, or end them if no gate can
    open.
    """

    jobs: list[int]
    touched: list[int]


def unchanged(tx: Tx, claims: Mapping[int, int]) -> list[int]:
    """Return the jobs that have succeeded under this claim, and so have had no later run. The caller has locked their
    rows."""
    return tx.column(_UNCHANGED, jobs=list(claims), claims=list(claims.values()))


def unsuccessful(tx: Tx, jobs: list[int]) -> list[int]:
    """Return the jobs that have ended without success. The caller has locked their rows."""
    return tx.column(_UNSUCCESSFUL, jobs=jobs)


def with_upstream_failed(tx: Tx, jobs: list[int]) -> dict[JobName, int]:
    """Return the jobs among these that have ended without success, and the jobs that could not run because of them.
    Nothing is locked. Jobs that make partitions, and undos, are left out."""
    return {JobName(app, key): id for id, app, key in tx.rows(_WITH_UPSTREAM_FAILED, jobs=jobs)}


def keep(tx: Tx, jobs: Collection[int]) -> None:
    """Lock jobs that this transaction requests, so that none is removed. ChangedMeanwhile if one was.

    Call this after the jobs that run again are locked. Two transactions can have this lock at the same time, and then
    both would wait for the stronger one.
    """
    if len(tx.rows(_KEEP, jobs=[*jobs])) < len(jobs):
        raise ChangedMeanwhile


def hold(tx: Tx, jobs: list[int]) -> None:
    """Lock jobs that are about to run again, by id. If they run again alone, include their parents.

    A plan locks the jobs that it changes before the others, so two such plans with a common child would wait for each
    other.
    """
    tx.rows(HOLD_JOBS, jobs=jobs)


def rerun(tx: Tx, jobs: list[int], *, downstream: bool, note: str | None = None) -> RerunJobs:
    """Run these jobs again, with their dead ancestors and descendants. The note is written for the named jobs only."""
    if not jobs:
        return RerunJobs([], [])
    return _rerun(tx, reach(tx, jobs, downstream=downstream), named=jobs, note=note)


def reach(tx: Tx, jobs: list[int], *, downstream: bool) -> list[int]:
    """Return the jobs that run again if these do. Nothing is locked."""
    roots = tx.column(_DEAD_ANCESTORS, jobs=jobs)
    return tx.column(_ALL_DESCENDANTS if downstream else _DEAD_DESCENDANTS, jobs=roots)


def waiting_children(tx: Tx, jobs: list[int]) -> list[int]:
    """Return the children of these jobs that wait. Nothing is locked."""
    return tx.column(_WAITING_CHILDREN, jobs=jobs)


def rerun_alone(tx: Tx, jobs: list[int]) -> RerunJobs:
    """Run these jobs again, without any ancestors or descendants."""
    return _rerun(tx, jobs) if jobs else RerunJobs([], [])


def begin_anew(tx: Tx, jobs: list[int]) -> list[int]:
    """Revive these jobs alone, because the caller is about to replace their needs. Return all jobs that this
    affects."""
    return _rerun(tx, jobs).touched if jobs else []


def want_again(tx: Tx, jobs: list[int]) -> RerunJobs:
    """Revive the cancelled jobs among these, for which there are new requests. The reason of their cancellation, that
    nothing requested them, is gone.

    Jobs that ended only because of them are revived too, except those that only cancelled submissions request. They get
    no new requests, so all of their requests stay.
    """
    cancelled = tx.column(_CANCELLED, jobs=jobs)
    if not cancelled:
        return RerunJobs([], [])
    return _rerun(tx, _hold_requested(tx, cancelled), requested=cancelled)


def _hold_requested(tx: Tx, cancelled: list[int]) -> list[int]:
    """Lock these jobs and their dead descendants that are still requested. Return all of them.

    The cancellation of a submission locks its dead jobs. So either its effect is seen here, or it finds them waiting.
    """
    held: list[int] = []
    while held != (found := tx.column(_REQUESTED_DESCENDANTS, jobs=cancelled)):
        hold(tx, found)
        held = found
    return held


def _rerun(
    tx: Tx,
    jobs: list[int],
    *,
    named: Sequence[int] = (),
    note: str | None = None,
    requested: list[int] | None = None,
) -> RerunJobs:
    """Run exactly these jobs again. ``requested`` are the jobs with new requests. None means all of them."""
    rerun_jobs = tx.column(_RERUN, jobs=jobs, named=[*named], note=note)
    if not rerun_jobs and requested is None:
        return RerunJobs([], [])
    dependencies.remove_from_outbox(tx, rerun_jobs)
    forget_ended(tx, rerun_jobs if requested is None else requested)
    tx.rows(_HOLD_OPEN_CHILDREN, jobs=rerun_jobs)
    # While this transaction waits for the rows, a child may start by another gate or by the last of its other parents.
    touched = sorted({*rerun_jobs, *dependencies.lock_waiting(tx, waiting_children(tx, rerun_jobs))})
    dependencies.recount(tx, touched)
    dependencies.put_back_expanding(tx, rerun_jobs)
    return RerunJobs(rerun_jobs, touched)
