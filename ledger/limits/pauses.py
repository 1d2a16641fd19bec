"""Pausing: jobs that only paused submissions request do not start until such a submission is resumed.

Invariants: a job that has not ended is ``paused`` if and only if it is still requested and all submissions that request
it are paused. No paused job is ``ready``; a CHECK enforces this, so claims need no test. A job that runs when the pause
arrives finishes its round, and its next round waits.

Races: a transaction that changes which submissions request a job, or which of these are paused, locks the job. It then
reads the requesting submissions in a later statement (``_reconsider``). So the second of two such transactions sees the
first one's changes. The second one cannot see a job that the first one has just created or rerun. So a transaction
that creates or revives jobs first keeps their submissions from being paused or resumed (``lock_pauses``), by advisory
locks (``job_graph.submission_locks``). Lock order: these locks, submissions, jobs in id order.

A crash leaves nothing, because each operation is one transaction. The groomer repeats notifications that were not sent.
"""

from collections.abc import Collection
from typing import NamedTuple

from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import LIVE, MAKE_READY, PAUSE, By, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import HOLD_JOBS, NOW, move, move_or_wait_for_slot
from sluice.ledger.job_graph.demand import STILL_WANTS
from sluice.ledger.job_graph.readiness import (
    ANNOUNCED,
    MAY_RUN,
    READY_COLUMNS,
    WAITS_FOR_SLOT,
    ReadyJob,
    move_out,
    split_slot_waiters,
)
from sluice.ledger.job_graph.submission_locks import PAUSES

_MARKED = """
SELECT number, paused_at IS NOT NULL, notify IS NOT NULL FROM submission
WHERE number = ANY(%(numbers)s) AND (paused_at IS NOT NULL OR notify IS NOT NULL)
"""
# A submission that is only received requests no job yet, and the planner that plans it holds its row.
_PAUSE_RECEIVED = f"""
UPDATE submission SET paused_at = coalesce(paused_at, {NOW})
WHERE id = %(id)s AND state = '{SubmissionState.RECEIVED}' RETURNING number
"""
_RESUME_RECEIVED = f"""
UPDATE submission SET paused_at = NULL, next_plan_at = {NOW}
WHERE id = %(id)s AND state = '{SubmissionState.RECEIVED}' AND paused_at IS NOT NULL RETURNING number
"""
_PAUSE_ACTIVE = f"""
UPDATE submission SET paused_at = coalesce(paused_at, {NOW})
WHERE id = %(id)s AND state = '{SubmissionState.ACTIVE}' RETURNING number
"""
# A submission that ended while it was paused may have pushed jobs that have not started.
_RESUME_PLANNED = (
    "UPDATE submission SET paused_at = NULL WHERE id = %(id)s AND paused_at IS NOT NULL RETURNING number"
)

# A CASE, so that no partial index answers it (see ``transitions.guard``).
_LIVES = f"CASE WHEN job.state IN ({sql_list(*sorted(LIVE))}) THEN true END"
_WANTED = f"""
SELECT job.id FROM submission_job JOIN job ON job.id = submission_job.job
    WHERE submission_job.submission = %(number)s AND {_LIVES}
"""
_WANTED_BY_PAUSED_ALONE = f"""
SELECT submission_job.job FROM submission_job JOIN submission ON submission.number = submission_job.submission
WHERE submission_job.job = ANY(%(jobs)s) AND {STILL_WANTS}
GROUP BY submission_job.job HAVING bool_and(submission.paused_at IS NOT NULL) ORDER BY submission_job.job
"""
_HOLD_BACK_READY = move(PAUSE, By.PLANNER, sets="paused = true")
_HOLD_BACK = f"""
UPDATE job SET paused = true, waiting_for_slot = false WHERE id = ANY(%(jobs)s) AND NOT paused AND {_LIVES} RETURNING id
"""
# Release the jobs and end their pause in one statement, so that each row is written once.
_LET_GO_READY = move_or_wait_for_slot(
    MAKE_READY,
    By.PLANNER,
    f"paused = false, {WAITS_FOR_SLOT}",
    condition=f"job.paused AND {MAY_RUN}",
    sets=f"paused = false, {ANNOUNCED}",
    returning=READY_COLUMNS,
)
_LET_GO = "UPDATE job SET paused = false WHERE id = ANY(%(jobs)s) AND paused RETURNING id"


class ResumedSubmission(NamedTuple):
    """Result of resuming a submission.

    ``let_go`` are unpaused jobs that are not ready, ``ready`` are jobs that may run now. ``is_planned`` is false if the
    submission is still to be planned.
    """

    let_go: list[int]
    ready: list[ReadyJob]
    is_planned: bool


def pause(tx: Tx, id: str) -> list[int] | None:
    """Pause a submission. Return the jobs held back, or None if no open submission has this id.

    A submission that is not planned yet remains unplanned. Pausing a paused submission changes nothing.
    """
    if tx.column(_PAUSE_RECEIVED, id=id):
        return []
    numbers = PAUSES.take_alone(tx, id)
    if not numbers or not tx.column(_PAUSE_ACTIVE, id=id):
        return None
    return _reconsider(tx, tx.column(_WANTED, number=numbers[0])).held_back


def resume(tx: Tx, id: str) -> ResumedSubmission | None:
    """Resume a paused submission. Return None if no paused submission has this id.

    All of its jobs are locked, not only the paused ones, because another submission that requests one may be being
    paused.
    """
    if tx.column(_RESUME_RECEIVED, id=id):
        return ResumedSubmission([], [], is_planned=False)
    numbers = PAUSES.take_alone(tx, id)
    if not numbers or not tx.column(_RESUME_PLANNED, id=id):
        return None
    _, let_go, ready = _reconsider(tx, tx.column(_WANTED, number=numbers[0]))
    return ResumedSubmission(let_go, ready, is_planned=True)


class SubmissionMarks(NamedTuple):
    """Submissions that are ``paused``, and submissions with rules that notify receivers of their jobs' events."""

    paused: set[int]
    notifying: set[int]


def lock_pauses(tx: Tx, numbers: Collection[int]) -> SubmissionMarks:
    """Keep these submissions from being paused or resumed until the transaction ends. Return their marks."""
    if not numbers:
        return SubmissionMarks(set(), set())
    PAUSES.share(tx, numbers)
    marked = tx.rows(_MARKED, numbers=sorted(numbers))
    return SubmissionMarks(
        {number for number, paused, _ in marked if paused},
        {number for number, _, notifying in marked if notifying},
    )


def lock_pauses_of_requesters(tx: Tx, jobs: list[int]) -> None:
    """Keep the submissions that request these jobs from being paused or resumed until the transaction ends."""
    PAUSES.share_for_jobs(tx, jobs)


def apply(tx: Tx, jobs: list[int]) -> list[ReadyJob]:
    """Set the pause of jobs that this transaction created, rerun or requested, according to their submissions.

    Return the jobs that may run now because their pause has ended.
    """
    if not jobs:
        return []
    lock_pauses_of_requesters(tx, jobs)
    return _reconsider(tx, jobs).ready


def apply_to_unrequested(tx: Tx, jobs: list[int]) -> None:
    """Set the pause of jobs that a submission no longer requests. No new submission requests them, so no pause ends."""
    if jobs:
        _reconsider(tx, jobs)


class _Reconsidered(NamedTuple):
    held_back: list[int]
    let_go: list[int]
    ready: list[ReadyJob]


def _reconsider(tx: Tx, jobs: list[int]) -> _Reconsidered:
    """Pause the jobs that only paused submissions request, and end the pause of the other jobs."""
    tx.rows(HOLD_JOBS, jobs=jobs)
    paused = tx.column(_WANTED_BY_PAUSED_ALONE, jobs=jobs)
    held_back = move_out(tx, _HOLD_BACK_READY, jobs=paused) + tx.column(_HOLD_BACK, jobs=paused)
    others = sorted(set(jobs).difference(paused))
    released = split_slot_waiters(tx, tx.rows(_LET_GO_READY, jobs=others))
    let_go = released.waiting_for_slot + tx.column(_LET_GO, jobs=others)
    return _Reconsidered(held_back, let_go, [ReadyJob(*row) for row in released.ready])
