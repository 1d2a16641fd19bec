"""What jobs take and come to: the one thing that a simulation has to be told."""

from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

from sluice.jobs.outcome import Outcome
from sluice.jobs.sagas.flight import Flight
from sluice.ledger.claims import Claimed
from sluice.ops.simulation.fate import Fate


class Effort(Struct, frozen=True):
    """One run of a job. It takes so long, acknowledges these partitions at those times, and then ``end`` says what it
    came to."""

    seconds: float
    end: Callable[[], Outcome]
    acknowledged: tuple[tuple[float, int], ...] = ()


class Work(Protocol):
    """Asked whenever a job is run."""

    def effort(self, claimed: Claimed) -> Effort:
        """Of a job that is no saga."""
        ...


class Sky(Protocol):
    """Where sagas fly: who calls their steps."""

    def takes_off(self, claimed: Claimed, steps: int) -> None:
        """This claim flies, and so many steps are before it."""
        ...

    def begin(self, claimed: Claimed, function: Callable[..., Any], flight: Flight) -> Any:
        """A step's do or undo is called; what is handed to ``end``."""
        ...

    def end(self, call: Any) -> object:
        """What it answers."""
        ...

    def rest_s(self, fate: Fate, claimed: Claimed) -> float:
        """How long it takes between any two things that a flight does."""
        ...

    def takes_s(self, claimed: Claimed) -> float:
        """How long a step takes that is called."""
        ...
