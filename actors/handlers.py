"""Which handler answers which message. An Execute is the worker's own (see actors.running): it takes time."""

from collections.abc import Callable, Mapping, Sequence

from sluice.actors import groomer, landing, pausing, planner, resuming, scheduler
from sluice.actors.plan_attempts import PlanAttempts
from sluice.broker.messages import (
    Cancel,
    Ended,
    Executed,
    Landed,
    Look,
    Message,
    Pause,
    Plan,
    Resume,
    Submit,
    SubmitMany,
    Tick,
)
from sluice.jobs.catalogue import Catalogue
from sluice.ledger.connection import Ledger

#: Each takes its own kind of message; the mapping below is what pairs them.
Handler = Callable[..., Sequence[Message]]

HANDLERS: Mapping[type[Message], Handler] = {
    Submit: planner.submit,
    SubmitMany: planner.submit_many,
    Cancel: planner.cancel,
    Pause: pausing.pause,
    Resume: resuming.resume,
    Landed: landing.landed,
    Plan: planner.plan,
    Executed: planner.executed,
    Ended: planner.ended,
    Tick: groomer.tick,
    Look: scheduler.look,
}


#: Messages whose handlers plan submissions.
_PLANNING = (Submit, SubmitMany, Plan)


def handle(
    ledger: Ledger, catalogue: Catalogue, message: Message, attempts: PlanAttempts | None = None
) -> Sequence[Message]:
    """Do what a message asks; the answer is to be sent once this has returned. A process that may die while it plans
    has ``attempts``."""
    planning = {"attempts": attempts} if isinstance(message, _PLANNING) else {}
    return HANDLERS[type(message)](ledger, catalogue, message, **planning)
