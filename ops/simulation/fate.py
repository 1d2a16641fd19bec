"""What goes wrong, and all else that is left to chance.

Each chance has a name: of which message, of which transaction of whom, the how manieth. What comes of it depends on the
seed and that name alone. So a seed happens again as it was; and of the faults that a seed had, one that is left out
leaves all others as they were, as far as it does not itself lead to them.
"""

import random
from collections import Counter
from collections.abc import Callable, Collection
from enum import StrEnum

from msgspec import Struct

from sluice.jobs.chance import fraction
from sluice.jobs.simulated import NO_FAULTS, Faults


class Kind(StrEnum):
    """What can go wrong. The values are for people: what happened to whom, in front of the name of the occasion."""

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


class Fault(Struct, frozen=True, order=True):
    """One thing that went wrong: the ``place``-th occasion of this kind to ``whom``, counted from 0."""

    kind: Kind
    whom: str
    place: int = 0


class Fate:
    """``faults`` are what may go wrong. Where there is a ``plan``, of all that would go wrong only what it names does.
    ``happened`` is what has, in order, with the time."""

    def __init__(self, seed: int, faults: Faults = NO_FAULTS, plan: Collection[Fault] | None = None) -> None:
        self.faults = faults
        self.happened: list[tuple[float, Fault, str]] = []
        self.elapsed_s: Callable[[], float] = lambda: 0.0
        self._seed = seed
        self._plan = plan
        self._occasions: Counter[tuple[str, str]] = Counter()

    def heal(self) -> None:
        """From now on nothing goes wrong."""
        self.faults = NO_FAULTS

    def strikes(self, kind: Kind, whom: str, chance: float, said: str = "") -> bool:
        """Whether this goes wrong now. ``said`` is more about it, for people."""
        place = self._next(kind, whom)
        if not chance or self._drawn(kind, whom, place) >= chance:
            return False
        return self._befalls(Fault(kind, whom, place), said)

    def late_s(self, whom: str) -> float:
        """How late this message is."""
        place = self._next(Kind.LATE, whom)
        if not self.faults.delay_s_max:
            return 0.0
        seconds = self._drawn(Kind.LATE, whom, place) * self.faults.delay_s_max
        return seconds if self._befalls(Fault(Kind.LATE, whom, place), f"by {seconds:.3f} s") else 0.0

    def number(self, name: str) -> float:
        """One in [0, 1), another each time that it is asked for."""
        return self._drawn("number", name, self._next("number", name))

    def rng(self, name: str) -> random.Random:
        """A source for this occasion alone; another each time that it is asked for."""
        return random.Random(f"{self._seed} {name} {self._next('rng', name)}")

    def _befalls(self, fault: Fault, said: str) -> bool:
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
