"""Handlers by message type. Execute and Watch are handled by the worker itself, because they take time
(``actors.running``, ``actors.watching``)."""

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
from sluice.ledger.database.connection import Ledger

#: Handler of one message type. The mapping below pairs them.
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


#: Messages with handlers that plan submissions.
_PLANNING = (Submit, SubmitMany, Plan)


def handle(
    ledger: Ledger, catalogue: Catalogue, message: Message, attempts: PlanAttempts | None = None
) -> Sequence[Message]:
    """Handle a message, and return the messages that must be sent afterwards. A process that may die while it plans
    passes ``attempts``."""
    planning = {"attempts": attempts} if isinstance(message, _PLANNING) else {}
    return HANDLERS[type(message)](ledger, catalogue, message, **planning)
