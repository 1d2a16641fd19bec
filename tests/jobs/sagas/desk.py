"""Steps that book things by adding their names to a set."""

from typing import Any

from sluice import Step, retry, saga
from sluice.jobs.sagas.flight import Flight


class Desk:
    """Set of the names that are booked, and the number of calls of ``Book.do``."""

    def __init__(self) -> None:
        self.booked: set[str] = set()
        self.count = 0


class Book(Step):
    """Step that is safe to repeat: it books its name once, and its undo accepts a missing booking."""

    retry = retry.fixed(seconds="1h", times=1)

    def __init__(self, what: str, answer: Any = None) -> None:
        self.name = what
        self.answer = answer

    def do(self, flight: Flight) -> Any:
        flight.context.booked.add(self.name)
        flight.context.count += 1
        flight.working[self.name] = flight.inputs["customer"]
        return self.answer

    def undo(self, flight: Flight) -> Any:
        flight.context.booked.discard(self.name)
        flight.working[self.name] = None


def journey_of(*steps: Step) -> Any:
    @saga(job_id="{customer}")
    def journey(flight: Flight) -> list[Step]:  # The same for every flight.
        return list(steps)

    return journey
