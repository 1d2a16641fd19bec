"""Checks of a program's submissions before the ledger admits them."""

from uuid import uuid4

import msgspec

from sluice.jobs.catalogue import parse_policy
from sluice.jobs.errors import BadRequest
from sluice.jobs.request_limits import oversized, unfit
from sluice.jobs.submission import COMPENSATION, SCHEDULED, Submission, is_reserved

#: Reason to refuse a submission that claims to compensate another one.
NOT_ASKED_FOR = "compensates: a failed saga is undone automatically; this cannot be requested."
#: Reason to refuse an id that is reserved for schedules or compensations.
RESERVED = (
    f"id: ids that begin with {SCHEDULED} belong to schedules, and ids that end in {COMPENSATION} to the"
    " undo of another submission. Choose another id."
)


def sound(submission: Submission) -> Submission:
    """Return a checked submission, with a new id if it has none. BadRequest for values that no planner would accept."""
    parse_policy(submission.policy)
    if submission.compensates is not None:
        raise BadRequest(NOT_ASKED_FOR)
    if submission.id and is_reserved(submission.id):
        raise BadRequest(RESERVED)
    try:
        reason = unfit(msgspec.json.encode(submission)) or oversized(submission.kwargs, submission.policy)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        reason = f"It cannot be written as JSON: {error}."
    if reason:
        raise BadRequest(f"The submission is refused. {reason}", where=submission.app)
    return submission if submission.id else msgspec.structs.replace(submission, id=str(uuid4()))
