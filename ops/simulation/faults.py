"""Faults, and all other random choices.

Each choice has a name: the message, or the process and its transaction, and the number of the occasion. The result
depends only on the seed and on that name. So a seed can be repeated. If a fault of a seed is left out, all other
faults stay as they were, unless that fault leads to them.
"""

import random
from collections import Counter
from collections.abc import Callable, Collection
from enum import StrEnum

from msgspec import Struct

from sluice.jobs.simulated import NO_FAULTS, Faults
from sluice.jobs.text.deterministic_random import fraction


class FaultKind(StrEnum):
    """Kinds of faults. The values are for people: they follow the name of the affected message or process."""

    LOST = "is lost"
    DOUBLED = "comes twice"
    LATE = "is late"
    DIES_BEFORE = "dies before it commits"
    DIES_AFTER = "dies after its commit"
    REPEATED = "never hears of its commit, and does it again"
    DIES_BETWEEN = "dies between two things that it does"
    KILLED = "is killed"
    FROZEN = "stands still"
    STOPPED = "is told to stop"


class InjectedFault(Struct, frozen=True, order=True):
    """Fault that has happened: occasion number ``place`` of this kind for ``whom``, counted from 0."""

    kind: FaultKind
    whom: str
    place: int = 0


class FaultSource:
    """Source of faults and random choices. ``faults`` are the possible faults. With a ``plan``, only faults in the
    plan happen. ``happened`` has the faults so far, in order, with the time.
    """

    def __init__(
        self, seed: int, faults: Faults = NO_FAULTS, plan: Collection[InjectedFault] | None = None
    ) -> None:
        self.faults = faults
        self.happened: list[tuple[float, InjectedFault, str]] = []
        self.elapsed_s: Callable[[], float] = lambda: 0.0
        self._seed = seed
        self._plan = plan
        self._occasions: Counter[tuple[str, str]] = Counter()

    def heal(self) -> None:
        """Prevent all further faults."""
        self.faults = NO_FAULTS

    def strikes(self, kind: FaultKind, whom: str, chance: float, said: str = "") -> bool:
        """Return whether this fault happens now, and record it if so. ``said`` has details for people."""
        place = self._next(kind, whom)
        if not chance or self._drawn(kind, whom, place) >= chance:
            return False
        return self._befalls(InjectedFault(kind, whom, place), said)

    def late_s(self, whom: str) -> float:
        """Return the delay of this message in seconds."""
        place = self._next(FaultKind.LATE, whom)
        if not self.faults.delay_s_max:
            return 0.0
        seconds = self._drawn(FaultKind.LATE, whom, place) * self.faults.delay_s_max
        return (
            seconds
            if self._befalls(InjectedFault(FaultKind.LATE, whom, place), f"by {seconds:.3f} s")
            else 0.0
        )

    def number(self, name: str) -> float:
        """Return a number in [0, 1), a different number on each call for a name."""
        return self._drawn("number", name, self._next("number", name))

    def rng(self, name: str) -> random.Random:
        """Return a random source for this occasion, a different source on each call for a name."""
        return random.Random(f"{self._seed} {name} {self._next('rng', name)}")

    def _befalls(self, fault: InjectedFault, said: str) -> bool:
        if self._plan is not None and fault not in self._plan:
            return False
        self.happened.append((self.elapsed_s(), fault, said))
        return True

    def _next(self, kind: str, whom: str) -> int:
        place = self._occasions[kind, whom]
        self._occasions[kind, whom] = place + 1
        return place

    def _drawn(self, kind: str, whom: str, place: int) -> float:
        return fraction(f"{self._seed} {kind} {whom} {place}")
