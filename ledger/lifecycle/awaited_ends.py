"""Clients that wait for the end of a submission, or of the one job that it names.

A client marks the submission as ``awaited`` and reads its state in a later statement. Every transaction that settles or
ends an awaited submission notifies the listeners (``lifecycle.submissions``). So either the client reads the end, or
the transaction that ends the submission finds the mark. If no client waits, there is no NOTIFY. Nor is there one when
a submission is planned and waits for a job that it names, because a read would find nothing new.

A mark locks the row for a moment. Planners skip locked submissions, and would leave it to the groomer's next tick. So a
submission that has just been received is not marked yet (``PLANNED_WITHIN_S``); the client reads it again until it is
planned. If the row is locked itself, the mark is skipped, because a large plan may hold the lock for long. A client
that waits for the jobs that it submits therefore marks them when it submits them (``submissions.receive``).

The job that a submission names is usually its blocking job, so the submission is settled when the job ends. If another
job of the submission is its blocking job, the end of the named job is found by the client's next regular check.
"""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import RequestReason
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import TERMINAL, State
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.transitions import NOW

_OPEN = (SubmissionState.RECEIVED, SubmissionState.ACTIVE)

#: Seconds within which a new submission is usually planned: 1, a tick of the groomer.
PLANNED_WITHIN_S = 1.0

# CASE, ``number + 0`` and ANY: as in ``submissions``, so that submissions are found by their ids and numbers.
_MARK = f"""
WITH held AS MATERIALIZED (
    SELECT number FROM submission
    WHERE id = ANY(%(ids)s) AND CASE WHEN NOT awaited THEN state = '{SubmissionState.ACTIVE}' OR
        state = '{SubmissionState.RECEIVED}' AND received_at < {NOW} - make_interval(secs => {PLANNED_WITHIN_S}) END
    ORDER BY number + 0 FOR UPDATE SKIP LOCKED
)
UPDATE submission SET awaited = true WHERE number = ANY(ARRAY(SELECT number FROM held))
"""
_HAS_RESULT = f"""
coalesce(job.state = '{State.SUCCEEDED}' AND NOT coalesce(round.result_pending, false)
         AND round.job IS NOT NULL AND round.result_blob IS NULL, false)
"""
# LIMIT, so that each row is found by its key. A join would read all submissions, and all jobs, by a plan that was made
# for a few. Such a plan may be kept for days, because a client has one connection for all its waits.
_READ = f"""
SELECT submission.number, submission.state, submission.awaited, submission.reason, job.app, job.key, job.state AS job,
       round.error, {_HAS_RESULT} AS has_result, CASE WHEN {_HAS_RESULT} THEN round.result END AS result,
       coalesce(round.result_pending, false) AND EXISTS (
           SELECT 1 FROM worker
           WHERE worker.id = round.worker AND worker.left_at IS NULL AND worker.lease_until > {NOW}) AS is_pending
FROM unnest(%(ids)s::text[], %(of_jobs)s::bool[]) WITH ORDINALITY AS given (id, of_job, nth)
     LEFT JOIN LATERAL (SELECT * FROM submission WHERE submission.id = given.id LIMIT 1) submission ON true
     LEFT JOIN LATERAL (
         SELECT job FROM submission_job
         WHERE given.of_job AND submission_job.submission = submission.number
           AND submission_job.request_reason = {RequestReason.ASKED:d}
         LIMIT 1) named ON true
     LEFT JOIN LATERAL (SELECT * FROM job WHERE job.id = named.job LIMIT 1) job ON true
     LEFT JOIN LATERAL (
         SELECT * FROM round WHERE round.job = job.id AND round.claim = job.claim LIMIT 1) round ON true
ORDER BY nth
"""


class Awaited(NamedTuple):
    """Submission that a client waits for. If ``of_job``, the client waits for the one job that it names. If
    ``is_marked``, the client has marked it when it submitted it."""

    submission: str
    of_job: bool
    is_marked: bool = False


class Progress(Struct, frozen=True):
    """Present state of an awaited submission, and of the job that it names, if the client waits for that.

    ``number`` is None if the submission does not exist. ``error`` is that of the job's last round. ``is_pending``: the
    job's function has yet to return, although its success is committed. ``has_result``: the job has succeeded, and
    ``result`` is the returned value as JSON, or None if it returned None. Otherwise the result is large,
    removed or lost (``ledger.reads.results``).
    """

    number: int | None
    state: SubmissionState | None
    awaited: bool | None
    reason: str | None
    app: str | None
    key: str | None
    job: State | None
    error: str | None
    has_result: bool
    result: str | None
    is_pending: bool

    @property
    def name(self) -> JobName | None:
        """Name of the job, or None if it is not planned."""
        return None if self.app is None or self.key is None else JobName(self.app, self.key)

    @property
    def is_over(self) -> bool:
        """True if the submission has ended, or the job that it names.

        A submission that is not planned may name a job of an earlier submission. Its plan decides whether that job runs
        again.
        """
        if self.is_pending:
            return False
        return self.state not in _OPEN or (self.state is SubmissionState.ACTIVE and self.job in TERMINAL)


def mark(tx: Tx, ids: Sequence[str]) -> None:
    """Mark the open submissions among these as awaited, unless they are locked or have just been received."""
    tx.write(_MARK, ids=[*ids])


def read(tx: Tx, awaited: Sequence[Awaited]) -> list[Progress]:
    """Return the present states, in this order."""
    return tx.structs(Progress, _READ, **arrays(awaited, "ids", "of_jobs"))
