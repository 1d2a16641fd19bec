"""What a program asks for, before the ledger takes it in."""

from uuid import uuid4

import msgspec

from sluice.jobs.catalogue import parse_policy
from sluice.jobs.errors import BadRequest
from sluice.jobs.request_limits import oversized, unfit
from sluice.jobs.submission import COMPENSATION, SCHEDULED, Submission, is_reserved

#: Of a submission that says of itself that it undoes another.
NOT_ASKED_FOR = "compensates: a saga that fails is undone by itself; nobody asks for that."
#: Of an id that is not the sender's to give.
RESERVED = (
    f"id: ids that begin with {SCHEDULED} belong to schedules, and those that end in {COMPENSATION} to what"
    " undoes another submission. Choose another id."
)


def sound(submission: Submission) -> Submission:
    """The same with an id, if it has none. BadRequest for words that no planner would understand."""
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
