"""A network that loses, doubles, delays and reorders. Time is virtual; a heap holds what is to come."""

import heapq
import itertools
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

START = datetime(2026, 1, 1, tzinfo=UTC)


class Agenda:
    """What happens when. Events of one instant happen in a random order, which the seed decides."""

    def __init__(self, rng: random.Random) -> None:
        self.now = START
        self._rng = rng
        self._heap: list[tuple[datetime, float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def after(self, delay_s: float, event: Callable[[], None]) -> None:
        at = self.now + timedelta(seconds=delay_s)
        heapq.heappush(self._heap, (at, self._rng.random(), next(self._numbers), event))

    def next(self) -> Callable[[], None]:
        """Go on to the next event's time, and return it."""
        self.now, _, _, event = heapq.heappop(self._heap)
        return event

    @property
    def elapsed_s(self) -> float:
        return (self.now - START).total_seconds()

    def clock(self) -> datetime:
        return self.now
