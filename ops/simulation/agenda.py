"""What happens when, in virtual time. A heap holds what is to come."""

import heapq
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sluice.ops.simulation.fate import Fate

START = datetime(2026, 1, 1, tzinfo=UTC)


class Agenda:
    """Events of one instant happen in a random order, which the seed decides by the names of what they are about."""

    def __init__(self, fate: Fate, start: datetime = START) -> None:
        self.now = self.start = start
        self._fate = fate
        self._heap: list[tuple[datetime, float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def after(self, delay_s: float, event: Callable[[], None], *, about: str) -> None:
        at = self.now + timedelta(seconds=delay_s)
        heapq.heappush(self._heap, (at, self._fate.number(about), next(self._numbers), event))

    def next(self) -> Callable[[], None]:
        """Go on to the next event's time, and return it."""
        self.now, _, _, event = heapq.heappop(self._heap)
        return event

    def skip_to(self, moment: datetime) -> None:
        """Nothing happens before."""
        self.now = moment

    @property
    def next_at(self) -> datetime | None:
        """When something happens again, if anything does."""
        return self._heap[0][0] if self._heap else None

    @property
    def elapsed_s(self) -> float:
        return (self.now - self.start).total_seconds()

    def clock(self) -> datetime:
        return self.now
