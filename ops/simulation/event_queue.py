"""Events in virtual time. Future events are in a heap."""

import heapq
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sluice.ops.simulation.faults import FaultSource

START = datetime(2026, 1, 1, tzinfo=UTC)


class Agenda:
    """Future events. Events of one instant happen in a random order, which the seed decides by the names of their
    subjects.
    """

    def __init__(self, fate: FaultSource, start: datetime = START) -> None:
        self.now = self.start = start
        self._fate = fate
        self._heap: list[tuple[datetime, float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def after(self, delay_s: float, event: Callable[[], None], *, about: str) -> None:
        at = self.now + timedelta(seconds=delay_s)
        heapq.heappush(self._heap, (at, self._fate.number(about), next(self._numbers), event))

    def next(self) -> Callable[[], None]:
        """Advance to the time of the next event, and return the event."""
        self.now, _, _, event = heapq.heappop(self._heap)
        return event

    def skip_to(self, moment: datetime) -> None:
        """Advance to this moment. No event may be due before it."""
        self.now = moment

    @property
    def next_at(self) -> datetime | None:
        """Time of the next event. None if there is none."""
        return self._heap[0][0] if self._heap else None

    @property
    def elapsed_s(self) -> float:
        return (self.now - self.start).total_seconds()

    def clock(self) -> datetime:
        return self.now
