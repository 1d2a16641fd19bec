"""Requests: the rows that tie submissions to jobs, and the submissions that get more jobs when a job ends."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Self

from msgspec import Struct

from sluice.jobs.model.dependency import MET
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import RequestReason
from sluice.jobs.model.submission import JSON, SubmissionState
from sluice.jobs.states import LIVE, UNSUCCESSFUL, State, sql_list
from sluice.ledger.database.connection import ChangedMeanwhile, Tx, arrays
from sluice.ledger.database.transitions import NOW
from sluice.ledger.job_graph.shared_kwargs import KWARGS
from sluice.ledger.job_graph.submission_locks import CANCELLATIONS, SharedSubmissionLocks

#: SQL that is true if a submission still requests a job. A submission that has ended still requests the jobs that it
#: pushed, because these may start long after the requested jobs have ended. A cancelled submission requests nothing.
STILL_WANTS = f"""
(submission.state = '{SubmissionState.ACTIVE}'
 OR submission_job.request_reason = {RequestReason.PUSHED:d} AND submission.state <> '{SubmissionState.CANCELLED}')
"""
#: SQL that is true if no submission requests a job any more.
UNWANTED = f"""
NOT EXISTS (SELECT 1 FROM submission_job JOIN submission ON submission.number = submission_job.submission
            WHERE submission_job.job = job.id AND {STILL_WANTS})
"""

_INSERT = """
INSERT INTO submission_job (submission, job, request_reason)
SELECT submission, job, min(request_reason)
FROM unnest(%(submission)s::bigint[], %(job)s::bigint[], %(request_reason)s::int[])
     AS new (submission, job, request_reason)
GROUP BY submission, job ORDER BY submission, job
ON CONFLICT (submission, job)
DO UPDATE SET request_reason = least(submission_job.request_reason, excluded.request_reason)
"""
_PUSHING = sql_list(*sorted(MET["succeeded"] | MET["failed"]))
# Submissions that request all children of a job that has ended.
_PUSHING_SUBMISSIONS = f"""
    JOIN submission_job ON submission_job.job = job.id
    JOIN submission ON submission.number = submission_job.submission
WHERE job.id = ANY(%(jobs)s) AND job.state IN ({_PUSHING}) AND {STILL_WANTS} AND submission.push
"""
_PUSHERS = f"""
SELECT job.app, job.key, job.state, {KWARGS} AS kwargs, job.overrides, job.work_ids,
       array_agg(submission.number ORDER BY submission.number) AS submissions
FROM job {_PUSHING_SUBMISSIONS} GROUP BY job.id ORDER BY job.id
"""
#: Statement that makes unplanned submissions due for planning now if they wait for any of these jobs.
WAKING = f"""
UPDATE submission SET next_plan_at = {NOW} WHERE state = '{SubmissionState.RECEIVED}' AND blocking_job = ANY(%(jobs)s)
"""
#: Query for the submissions with a blocking job among these jobs, and the job.
WATCHING = f"""
SELECT number, blocking_job FROM submission WHERE state = '{SubmissionState.ACTIVE}' AND blocking_job = ANY(%(jobs)s)
"""
#: Statement for what these ends affect, as the rows of ``AffectedByEnds.of``. Children may follow from the jobs of
#: ``PossiblePushes``. No child follows if the submission requests it already. Then a plan would change nothing.
AFFECTED = f"""
WITH woken AS ({WAKING}), watching AS ({WATCHING})
SELECT NULL::bigint AS number, job.id AS job
FROM unnest(%(pushing)s::bigint[], %(child_apps)s::text[], %(child_keys)s::text[]) AS pushed (parent, app, key)
    JOIN job ON job.id = pushed.parent {_PUSHING_SUBMISSIONS} AND NOT EXISTS (
    SELECT 1 FROM submission_job asked WHERE asked.submission = submission.number AND asked.job = (
        SELECT child.id FROM job child WHERE child.app = pushed.app AND child.key = pushed.key))
UNION SELECT * FROM watching ORDER BY number, job
"""
_UNSUCCESSFUL = f"""
SELECT job.app, job.key FROM submission_job JOIN job ON job.id = submission_job.job
WHERE submission_job.submission = %(number)s AND job.state IN ({sql_list(*sorted(UNSUCCESSFUL))}) ORDER BY job.id
"""
_LIVE = f"""
SELECT job.id FROM submission_job JOIN job ON job.id = submission_job.job
WHERE submission_job.submission = ANY(%(numbers)s) AND job.state IN ({sql_list(*sorted(LIVE))}) ORDER BY job.id
"""
# Requests of a walk stop at succeeded jobs. When such a job runs again, its waiting children need it once more.
_REQUEST_FOR_WAITING = f"""
WITH RECURSIVE needed (submission, job) AS (
    SELECT asked.submission, need.parent
    FROM need JOIN job child ON child.id = need.child AND child.state = '{State.WAITING}'
        JOIN submission_job asked ON asked.job = child.id AND asked.request_reason <> {RequestReason.PUSHED:d}
        JOIN submission ON submission.number = asked.submission AND submission.state = '{SubmissionState.ACTIVE}'
    WHERE need.parent = ANY(%(jobs)s)
    UNION
    SELECT needed.submission, need.parent FROM needed JOIN need ON need.child = needed.job
    WHERE need.parent = ANY(%(jobs)s)
)
INSERT INTO submission_job (submission, job, request_reason)
SELECT submission, job, {RequestReason.PULLED:d} FROM needed ORDER BY 1, 2
ON CONFLICT (submission, job) DO NOTHING
RETURNING submission, job
"""
_FORGET_STEPS = f"""
DELETE FROM submission_job USING job
WHERE submission_job.submission = %(number)s AND job.id = submission_job.job AND job.output_table IS NOT NULL
  AND job.state IN ({sql_list(*sorted(UNSUCCESSFUL))})
"""
_FORGET_ENDED = f"""
DELETE FROM submission_job USING submission
WHERE submission_job.job = ANY(%(jobs)s) AND submission_job.request_reason = {RequestReason.PUSHED:d}
    AND submission.number = submission_job.submission
  AND submission.state IN ('{SubmissionState.SUCCEEDED}', '{SubmissionState.FAILED}')
"""


_CANCELLED = f"""
SELECT number FROM submission WHERE number = ANY(%(numbers)s) AND state = '{SubmissionState.CANCELLED}'
"""


class ParentToPush(Struct, frozen=True):
    """A job with an outcome, and the submissions that also request the children that wait for this outcome."""

    app: str
    key: str
    state: State
    kwargs: Mapping[str, JSON] | None
    overrides: Mapping[str, JSON] | None
    #: Parts of its list of work IDs, if it is a chunk.
    work_ids: list[JSON] | None
    submissions: list[int]

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


def lock_out_cancellations(tx: Tx, jobs: list[int]) -> SharedSubmissionLocks:
    """Keep the submissions that request these jobs from being cancelled until the transaction ends. Call it first: a
    cancellation locks jobs after this lock."""
    return CANCELLATIONS.share_for_jobs(tx, jobs)


def parents_to_push(tx: Tx, jobs: list[int], held: SharedSubmissionLocks) -> list[ParentToPush]:
    """Return the jobs among these that have children to be planned although no submission requested them. ``held`` is
    the result of ``lock_out_cancellations``. ChangedMeanwhile if another submission has requested a job after it.
    """
    parents = tx.structs(ParentToPush, _PUSHERS, jobs=jobs)
    if not all(held.contain(number) for parent in parents for number in parent.submissions):
        raise ChangedMeanwhile
    return parents


def require_uncancelled(tx: Tx, numbers: Collection[int]) -> None:
    """Raise ChangedMeanwhile if any of these submissions was cancelled after this transaction has read it. Call it when
    the jobs that they request are locked. A cancellation that comes later waits for these locks, and then finds the
    jobs that this transaction has created."""
    if numbers and tx.rows(_CANCELLED, numbers=sorted(numbers)):
        raise ChangedMeanwhile


class PossiblePushes(NamedTuple):
    """Jobs whose success may have children planned, and the children that can follow, in columns. A child without a
    name: only the planner can tell which children follow."""

    pushing: list[int]
    child_apps: list[str | None]
    child_keys: list[str | None]

    @classmethod
    def of(cls, children: Mapping[int, Sequence[JobName] | None]) -> Self:
        """Return the children by parent; None if only the planner can tell them."""
        found = cls([], [], [])
        for parent, names in children.items():
            for app, key in [(None, None)] if names is None else names:
                found.pushing.append(parent)
                found.child_apps.append(app)
                found.child_keys.append(key)
        return found


#: No job has children to plan.
NO_PUSHES = PossiblePushes([], [], [])


class AffectedRow(Struct, frozen=True):
    """Row of ``AFFECTED``: a job with children that may follow, or a submission with the job as its blocking job."""

    number: int | None
    job: int


class AffectedByEnds(NamedTuple):
    """Effects of ends: ``pushing`` are jobs with children that may follow, ``watching`` submissions with another of the
    jobs as their blocking job."""

    pushing: list[int]
    watching: list[int]

    @classmethod
    def of(cls, rows: Sequence[AffectedRow]) -> Self:
        """Return the effects from the rows of ``AFFECTED``."""
        pushing = [row.job for row in rows if row.number is None]
        watching = [row.number for row in rows if row.number is not None and row.job not in pushing]
        return cls(pushing, watching)


def affected_by(tx: Tx, ended: list[int], pushes: PossiblePushes) -> AffectedByEnds:
    """Return the jobs and submissions that these ends affect. Also wake submissions that wait for any of the jobs.

    Call it before the ends are propagated to the children, and settle the submissions after that.
    """
    rows = tx.rows(AFFECTED, jobs=ended, **pushes._asdict())
    return AffectedByEnds.of([AffectedRow(*row) for row in rows])


def unsuccessful(tx: Tx, number: int) -> list[JobName]:
    """Return the jobs of a submission that have ended without success. Nothing is locked."""
    return [JobName(app, key) for app, key in tx.rows(_UNSUCCESSFUL, number=number)]


def live(tx: Tx, numbers: list[int]) -> list[int]:
    """Return the jobs of these submissions that have not ended."""
    return tx.column(_LIVE, numbers=numbers) if numbers else []


def request(tx: Tx, requests: list[tuple[int, int, RequestReason]]) -> None:
    """Record which submission requests which job, and how. A request by name overrides the other ways."""
    if requests:
        tx.write(_INSERT, **arrays(requests, "submission", "job", "request_reason"))


def request_for_waiting(tx: Tx, jobs: list[int]) -> list[tuple[int, int]]:
    """Request these jobs, which run again, for the submissions with a waiting job that needs them. Return the new
    requests, each as the number of the submission and the job.

    Otherwise the cancellation of the submission that runs them again would cancel them, and the waiting jobs could not
    run.
    """
    return [(number, job) for number, job in tx.rows(_REQUEST_FOR_WAITING, jobs=jobs)] if jobs else []


def forget_ended(tx: Tx, jobs: list[int]) -> None:
    """Drop the requests of ended submissions that had pushed these jobs, because the jobs are rerun."""
    tx.write(_FORGET_ENDED, jobs=jobs)


def forget_steps(tx: Tx, number: int) -> None:
    """Remove the dead steps of a submission, which is about to be planned again and may be divided differently."""
    tx.write(_FORGET_STEPS, number=number)
