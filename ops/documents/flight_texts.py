"""Short texts about a saga's flight: its position, and why it is undone."""

from sluice.jobs.sagas.abort_reasons import CALLED_OFF, TIMED_OUT, WAIT_TIMED_OUT
from sluice.jobs.sagas.answers import ANSWERS
from sluice.jobs.sagas.journal import Direction, Failure
from sluice.jobs.sagas.next_step import next_leg
from sluice.ledger.reads.saga_details import FlightRecord
from sluice.ledger.sagas.journals import CRASHES_MAX
from sluice.ops.text import first_line

#: Failure types with a message that states the whole event. They are not failures of a step.
_UNFAILED = {CALLED_OFF, TIMED_OUT, WAIT_TIMED_OUT}
_ANSWERS = {each.__name__ for each in ANSWERS}


def place(flight: FlightRecord) -> str:
    """Return the flight's position, like ``at step 2 of 3, after Reserve``, or ``at the undo of step 2 of 3, Pay``."""
    last = flight.last
    if last is None:
        return "at its first step"
    if flight.wait is not None:
        return f"after step {last.step + 1} of {last.steps}, {last.name}, which returned Wait"
    leg = next_leg(last)
    if leg.direction is Direction.UNDO:
        return f"at the undo of {counted(flight, leg.step)}" if leg.step >= 0 else "with nothing left to undo"
    if leg.step == last.steps:
        return "after its last step"
    again = leg.step == last.step
    return f"at {counted(flight, leg.step)}{', again' if again else f', after {last.name}'}"


def counted(flight: FlightRecord, step: int) -> str:
    """Return a step as text, like ``step 2 of 3, Pay``. Steps are counted from 1 in texts and from 0 everywhere
    else.
    """
    name = next((line.name for line in reversed(flight.lines) if line.step == step), "")
    return f"step {step + 1} of {flight.steps}{f', {name}' if name else ''}"


def undone(flight: FlightRecord) -> str:
    """Return that the flight is undone and why, like ``is being undone, because it was cancelled``. Empty for a flight
    that continues.
    """
    if flight.undoing and flight.failure:
        return f"is being undone, because {cause(flight.failure)}"
    return f"will be undone, because {flight.abort_reason}" if flight.abort_reason else ""


def crashes(flight: FlightRecord) -> str:
    """Return how many workers the flight lost since its last step, like ``it has lost 3 workers there, one after the
    other``. Empty if it lost none.
    """
    if not flight.crashes:
        return ""
    if flight.crashes == 1:
        return "it has lost a worker there"
    more = " or more" if flight.crashes == CRASHES_MAX else ""
    return f"it has lost {flight.crashes}{more} workers there, one after the other"


def cause(failure: Failure) -> str:
    """Return why the flight turned back: the failed step, or the event that caused it."""
    if failure.type in _UNFAILED:
        return f"{failure.message[:1].lower()}{failure.message[1:].rstrip('.')}"
    return f"{failure.step or 'making its steps'} failed: {told(failure)}"


def told(failure: Failure) -> str:
    """Return the failure in one line, without the modules of its type. If a step returned an answer with a message,
    return only the message.
    """
    kind = failure.type.rpartition(".")[2]
    message = first_line(failure.message)
    if failure.type in _ANSWERS and message:
        return message
    return f"{kind}: {message}" if message else kind
