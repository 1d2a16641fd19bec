"""Steps that book things at a desk which is no more than a set."""

from typing import Any

from sluice import Step, retry, saga
from sluice.jobs.sagas.flight import Flight


class Desk:
    """Where things are booked, each under its name."""

    def __init__(self) -> None:
        self.booked: set[str] = set()
        self.count = 0


class Book(Step):
    """Books once, however often it runs, and takes back what is there, if anything is."""

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
