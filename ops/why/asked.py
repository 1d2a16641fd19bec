"""Submissions in words: what may come of them, and what they did to a job."""

from collections.abc import Sequence
from datetime import datetime

from sluice.jobs.submission import SubmissionState
from sluice.ledger.reads.askers import Refused, Unplanned, Wanter
from sluice.ops.why.answer import WaitsFor
from sluice.ops.why.pauses import to_be_resumed


def unplanned(each: Unplanned) -> Sequence[WaitsFor]:
    """The submission, and the job that it is not planned before the end of."""
    submission = WaitsFor(
        kind="submission", what=f"submission {each.id} to be planned", since=each.received_at
    )
    if each.paused_at is not None:
        return [to_be_resumed(each.id, each.paused_at)]
    if each.awaited is None:
        return [submission]
    job = WaitsFor(
        kind="job",
        what=f"{each.awaited}, which is {each.state} and makes what it would make itself",
        app=each.app,
        key=each.key,
        state=each.state,
    )
    return [submission, job]


def refusal(each: Refused) -> WaitsFor:
    what = f"submission {each.id} asked for it and was refused: {each.reason.rstrip('.')}"
    return WaitsFor(kind="refusal", what=what, since=each.received_at)


def canceller(wanted_by: Sequence[Wanter], at: datetime) -> Wanter | None:
    """The submission whose cancellation took a job with it; None where it was cancelled by name.

    What somebody else wanted at the time is only cancelled by name.
    """
    if any(_wanted_it(each, at) for each in wanted_by):
        return None
    cancelled = [each for each in wanted_by if each.state is SubmissionState.CANCELLED]
    return max(cancelled, key=lambda each: each.ended_at or at, default=None)


def _wanted_it(each: Wanter, at: datetime) -> bool:
    if each.ended_at is None or each.ended_at > at:
        return True
    return each.pushed and each.state is not SubmissionState.CANCELLED
