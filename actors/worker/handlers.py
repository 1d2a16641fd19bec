"""Handlers by message type. The worker itself handles Execute and Watch, because they take time
(``actors.executor.execution``, ``actors.executor.external_work``)."""

from collections.abc import Callable, Mapping, Sequence

from sluice.actors.groomer import ticks
from sluice.actors.planner import handlers, landed_partitions, pauses, saga_events
from sluice.actors.planner.plan_attempts import PlanAttempts
from sluice.actors.scheduler import due_schedules
from sluice.actors.signed_acts import recording
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
    Submit: handlers.submit,
    SubmitMany: handlers.submit_many,
    Cancel: handlers.cancel,
    Pause: pauses.pause,
    Resume: saga_events.resume,
    Landed: landed_partitions.landed,
    Plan: handlers.plan,
    Executed: handlers.executed,
    Ended: handlers.ended,
    Tick: ticks.tick,
    Look: due_schedules.check_schedules,
}


#: Messages with handlers that plan submissions.
_PLANNING = (SubmitMany, Plan)


def handle(
    ledger: Ledger, catalogue: Catalogue, message: Message, attempts: PlanAttempts | None = None
) -> Sequence[Message]:
    """Handle a message, and return the messages that must be sent afterwards. A process that may die while it plans
    passes ``attempts``."""
    planning = {"attempts": attempts} if isinstance(message, _PLANNING) else {}
    return HANDLERS[type(message)](recording(ledger, message), catalogue, message, **planning)
