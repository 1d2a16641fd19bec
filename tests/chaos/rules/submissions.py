"""Rules about submissions: none is lost after acceptance, each ends, and a cancellation stops its jobs."""

from collections.abc import Iterator

from sluice.jobs.model.plan import RequestReason
from sluice.jobs.model.submission import UNFORTUNATE, SubmissionState
from sluice.jobs.states import CLAIM, MARK_LANDED, SKIP, SUCCEED, State
from tests.chaos.history import History
from tests.chaos.rows import Submission

#: Seconds after a cancellation in which its jobs may still be claimed. Its time is set before the commit, so a claim in
#: between comes first. The transaction may be delayed as long as the nemesis stops its process.
CANCELLING_S = 10.0
_ENDED = {SubmissionState.SUCCEEDED, *UNFORTUNATE}


def accepted_submissions_are_there(history: History) -> Iterator[str]:
    """Check that the ledger has every submission that was confirmed to a client, however it was sent."""
    there = {submission.id for submission in history.rows.submissions}
    for accepted in history.accepted:
        if accepted.id not in there:
            yield f"{accepted.id} for {accepted.app} was accepted by {accepted.by}, and the ledger does not have it"


def every_submission_has_ended(history: History) -> Iterator[str]:
    for submission in history.rows.submissions:
        if submission.state not in _ENDED:
            yield f"{submission.id} is still {submission.state}"


def succeeded_submissions_have_all_their_jobs(history: History) -> Iterator[str]:
    """Check that the requested jobs of a succeeded submission had succeeded, were skipped or landed, or were split."""
    for want in history.rows.wants:
        submission, job = history.submissions.get(want.submission), history.jobs.get(want.job)
        if submission is None or job is None or want.request_reason != RequestReason.ASKED or job.is_pruned:
            continue
        if submission.state == SubmissionState.SUCCEEDED and not _came_well(history, submission, job.id):
            yield f"{submission.id} has succeeded, and its requested job {job.name} had not"


def unwanted_jobs_are_not_begun(history: History) -> Iterator[str]:
    """Check that a job is not claimed after all submissions that requested it were cancelled.

    Sagas that have begun are excepted: they are undone, with as many claims as that takes.
    """
    wanted_by: dict[int, list[Submission]] = {}
    for want in history.rows.wants:
        if want.submission in history.submissions:
            wanted_by.setdefault(want.job, []).append(history.submissions[want.submission])
    for job, submissions in wanted_by.items():
        if job in history.flown or any(each.state != SubmissionState.CANCELLED for each in submissions):
            continue
        over = max(each.ended_at or 0.0 for each in submissions) + CANCELLING_S
        for step in history.steps_of.get(job, []):
            if step.verb == CLAIM.name and step.at > over:
                yield f"{history.name(job)} was claimed long after all its submissions were cancelled"


def _came_well(history: History, submission: Submission, job: int) -> bool:
    well = {SUCCEED.target, SKIP.target, MARK_LANDED.target, State.SPLIT}
    return any(
        step.target in well and submission.ended_at is not None and step.at <= submission.ended_at
        for step in history.steps_of.get(job, [])
    )
