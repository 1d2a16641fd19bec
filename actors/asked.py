"""What a program asks for, before the ledger takes it in."""

from uuid import uuid4

import msgspec

from jobs.catalogue import parse_policy
from jobs.errors import BadRequest
from jobs.submission import NUL, Submission

#: Of a submission that says of itself that it undoes another.
NOT_ASKED_FOR = "compensates: a saga that fails is undone by itself; nobody asks for that."


def sound(submission: Submission) -> Submission:
    """The same with an id, if it has none. BadRequest for words that no planner would understand."""
    parse_policy(submission.policy)
    if submission.compensates is not None:
        raise BadRequest(NOT_ASKED_FOR)
    if NUL in msgspec.json.encode(submission):
        raise BadRequest("The submission holds a NUL character, which no ledger keeps.")
    return submission if submission.id else msgspec.structs.replace(submission, id=str(uuid4()))
