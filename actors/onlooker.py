"""Who looks on while jobs are run, and what he is told.

What holds: an onlooker is told after the ledger has it, holds nothing up, and the work goes on whatever becomes
of him. He may be told a thing twice, by two processes even, and not at all by one that dies.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from sluice.actors.meter import Count
from sluice.jobs.job import Assignment
from sluice.jobs.outcome import Outcome
from sluice.jobs.ref import Claim
from sluice.ledger.claims import Claimed
from sluice.ledger.happenings import What
from sluice.ledger.reads.origins import Origin, Planned, Stretch


class Sight(Struct, frozen=True, kw_only=True):
    """What there is to know of a run before it begins: ``after`` are the runs it came after, with what those began
    for; ``parcel`` is how many were claimed together."""

    job: Claimed
    origin: Origin | None = None
    after: Sequence[tuple[Claim, Origin | None]] = ()
    parcel: int = 1


class Past(Struct, frozen=True, kw_only=True):
    """A stretch of a job's life that is over, and what that run had begun for."""

    stretch: Stretch
    origin: Origin | None = None


class Run(Protocol):
    """One run, in the thread that is at it."""

    @property
    def traceparent(self) -> str | None:
        """Where what the run starts is to say that it belongs."""
        ...

    def begin(self, assignment: Assignment) -> None:
        """The work itself is about to begin."""
        ...

    def end(self, outcome: Outcome | None) -> None:
        """It is over, in the same thread; None where it committed its own success, or nobody knows."""
        ...


class Onlooker(Protocol):
    """Methods are called by any thread."""

    def run(self, sight: Sight) -> Run:
        """A run is about to begin in this thread."""
        ...

    def recorded(self, sight: Sight, outcome: Outcome, *, refused: bool) -> None:
        """What a run came to has been written down, or was refused because it came too late."""
        ...

    def lost(self, past: Past) -> None:
        """A run whose worker was lost."""
        ...

    def judged(self, past: Past) -> None:
        """A run was judged."""
        ...

    def planned(self, submission: Planned) -> None:
        """A submission was planned or refused."""
        ...

    def counts(self) -> Mapping[What, Count]:
        """What of his doing is counted."""
        ...

    def close(self) -> None:
        """Tell what is untold, in a bounded time."""
        ...
