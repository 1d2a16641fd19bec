"""Observers (traces, lineage): their interface and the data that they receive.

Invariants: an observer is called after the ledger has a fact. It delays no work, and its errors do not affect the work.
It may receive a fact twice, even from two processes. It receives nothing from a process that dies.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from sluice.actors.meter import Count
from sluice.jobs.job import Assignment
from sluice.jobs.outcome import Outcome
from sluice.jobs.ref import Claim
from sluice.ledger.lifecycle.claims import Claimed
from sluice.ledger.reads.run_records import Origin, Planned, Stretch
from sluice.ledger.stats.event_counters import What


class Sight(Struct, frozen=True, kw_only=True):
    """Known facts about a run before it begins. ``after`` has the runs that it came after, each with its origin.
    ``parcel`` is the number of jobs that were claimed together."""

    job: Claimed
    origin: Origin | None = None
    after: Sequence[tuple[Claim, Origin | None]] = ()
    parcel: int = 1


class Past(Struct, frozen=True, kw_only=True):
    """A finished stretch of a job's life, and the origin of its run."""

    stretch: Stretch
    origin: Origin | None = None


class Run(Protocol):
    """Observer of one run, called in the run's thread."""

    @property
    def traceparent(self) -> str | None:
        """Trace context for everything that the run starts."""
        ...

    def begin(self, assignment: Assignment) -> None:
        """Observe that the work itself is about to begin."""
        ...

    def end(self, outcome: Outcome | None) -> None:
        """Observe the end, in the same thread. ``outcome`` is None if the run committed its own success, or if it is
        unknown."""
        ...


class Onlooker(Protocol):
    """Observer of this process. Any thread may call its methods."""

    def run(self, sight: Sight) -> Run:
        """Return the observer of a run that is about to begin in this thread."""
        ...

    def recorded(self, sight: Sight, outcome: Outcome, *, refused: bool) -> None:
        """Observe an outcome that was recorded, or was refused because it came too late."""
        ...

    def lost(self, past: Past) -> None:
        """Observe a run of a lost worker."""
        ...

    def judged(self, past: Past) -> None:
        """Observe the verdict on a run."""
        ...

    def planned(self, submission: Planned) -> None:
        """Observe a submission that was planned or refused."""
        ...

    def counts(self) -> Mapping[What, Count]:
        """Return the counters of this observer."""
        ...

    def close(self) -> None:
        """Send everything that is pending, within a bounded time."""
        ...
