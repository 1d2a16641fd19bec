"""Texts about submissions that concern a job: unplanned, refused and cancelled submissions."""

from collections.abc import Sequence
from datetime import datetime

from sluice.jobs.model.submission import SubmissionState
from sluice.ledger.reads.requesters import Refused, Unplanned, Wanter
from sluice.ops.why.answer import WaitsFor
from sluice.ops.why.pauses import to_be_resumed


def unplanned(each: Unplanned) -> Sequence[WaitsFor]:
    """Return the submission, and the job that has to end before it is planned. If the submission is paused, return only
    the pause.
    """
    submission = WaitsFor(
        kind="submission", what=f"submission {each.id} to be planned", since=each.received_at
    )
    if each.paused_at is not None:
        return [to_be_resumed(each.id, each.paused_at)]
    if each.awaited is None:
        return [submission]
    job = WaitsFor(
        kind="job",
        what=f"{each.awaited}, which is {each.state} and does work that this submission needs",
        app=each.app,
        key=each.key,
        state=each.state,
    )
    return [submission, job]


def refusal(each: Refused) -> WaitsFor:
    what = f"submission {each.id} requested it and was refused: {each.reason.rstrip('.')}"
    return WaitsFor(kind="refusal", what=what, since=each.received_at)


def canceller(wanted_by: Sequence[Wanter], at: datetime) -> Wanter | None:
    """Return the submission that cancelled the job with it. None if the job was cancelled by name.

    A job that another submission requested at that time can only have been cancelled by name.
    """
    if any(_wanted_it(each, at) for each in wanted_by):
        return None
    cancelled = [each for each in wanted_by if each.state is SubmissionState.CANCELLED]
    return max(cancelled, key=lambda each: each.ended_at or at, default=None)


def _wanted_it(each: Wanter, at: datetime) -> bool:
    if each.ended_at is None or each.ended_at > at:
        return True
    return each.pushed and each.state is not SubmissionState.CANCELLED
