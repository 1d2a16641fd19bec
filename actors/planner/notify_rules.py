"""Rules of submissions that notify receivers: the rules of its schedule, and its own.

A submitter may only name an app of the definitions as the receiver. So a submission can neither have a request sent
nor a command run. The rules of a schedule come from its definition, which is found by the id of the submission. Only
the scheduler can assign such an id.
"""

from collections.abc import Iterable

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.fields.notify_option import receiver_fault, submitted_rules
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.submission import SCHEDULED, Submission
from sluice.jobs.notifications.rules import NotifyRule
from sluice.ledger.database.connection import Tx
from sluice.ledger.notifications import subscriptions


def rules_of(catalogue: Catalogue, submission: Submission) -> tuple[NotifyRule, ...]:
    """Return the rules of a submission. BadRequest if it may not have them."""
    id_ = submission.id or ""
    of_schedule = (
        each.notify
        for each in catalogue.schedules.values()
        if each.notify and id_.startswith(f"{SCHEDULED}{each.id}:")
    )
    try:
        own = submitted_rules(submission.notify)
        for rule in own:
            if fault := receiver_fault(rule.to, catalogue.get(rule.to.app or "")):
                raise ValueError(fault)
    except ValueError as error:
        raise BadRequest(f"notify: {error}.", where=submission.app) from None
    return (*next(of_schedule, ()), *own)


def store_rules(tx: Tx, catalogue: Catalogue, planned: Iterable[tuple[int, Submission]]) -> None:
    """Store the rules of submissions, each with its number, that are about to be planned."""
    subscriptions.set_rules(tx, [(number, rules_of(catalogue, each)) for number, each in planned])
