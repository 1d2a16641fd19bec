"""What a program asks for, before the ledger takes it in."""

from uuid import uuid4

import msgspec

from jobs.catalogue import parse_policy
from jobs.errors import BadRequest
from jobs.submission import NUL, Submission


def sound(submission: Submission) -> Submission:
    """The same with an id, if it has none. BadRequest for words that no planner would understand."""
    parse_policy(submission.policy)
    if NUL in msgspec.json.encode(submission):
        raise BadRequest("The submission holds a NUL character, which no ledger keeps.")
    return submission if submission.id else msgspec.structs.replace(submission, id=str(uuid4()))
