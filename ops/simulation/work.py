"""Duration and outcome of jobs, the one part that a simulation must be given."""

from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

from sluice.jobs.model.job import Outcome
from sluice.jobs.sagas.flight import Flight
from sluice.jobs.sagas.spec import Saga
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ops.simulation.faults import FaultSource


class Effort(Struct, frozen=True):
    """One run of a job: how long it takes, which partitions it acknowledges at which times, and ``end``, which returns
    its outcome.
    """

    seconds: float
    end: Callable[[], Outcome]
    acknowledged: tuple[tuple[float, int], ...] = ()


class Work(Protocol):
    """Source of durations and outcomes. It is called for each run of a job."""

    def effort(self, claimed: ClaimedJob) -> Effort:
        """Return the run of a job that is no saga."""
        ...


class Sky(Protocol):
    """Environment of sagas, which calls their steps."""

    def takes_off(self, claimed: ClaimedJob, saga: Saga) -> None:
        """Note that this claim begins to run a flight of this saga."""
        ...

    def begin(self, claimed: ClaimedJob, function: Callable[..., Any], flight: Flight) -> Any:
        """Begin the call of a step's do or undo. Return the value for ``end``."""
        ...

    def end(self, call: Any) -> object:
        """Return the result of the call."""
        ...

    def rest_s(self, fate: FaultSource, claimed: ClaimedJob) -> float:
        """Return the seconds between any two actions of a flight."""
        ...

    def takes_s(self, claimed: ClaimedJob) -> float:
        """Return the seconds that the call of a step takes."""
        ...
