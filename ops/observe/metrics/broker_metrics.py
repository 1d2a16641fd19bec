"""Messages that wait at the broker. They are counted in a separate thread, so that readers of metrics wait for a
bounded time.
"""

import logging
from collections.abc import Callable, Sequence
from math import inf
from time import monotonic

from msgspec import Struct

from sluice.broker.interface import Broker
from sluice.ops.observe.bounded_reader import BoundedReader

_LOG = logging.getLogger("sluice.metrics")


class Depths(Struct, frozen=True):
    """Number of waiting messages and of dead letters, by queue."""

    waiting: dict[str, int]
    dead: dict[str, int]


class Carried:
    """Reader of the depths of queues. ``connect`` returns the broker. One thread reads at a time, because the broker's
    connection is for one thread, so a read is never given up.
    """

    def __init__(self, connect: Callable[[], Broker]) -> None:
        self._connect = connect
        self._queues: Sequence[str] = ()
        self._until = 0.0
        self._reader = BoundedReader(
            self._ask, subject="number of messages at the broker", log=_LOG, given_up_s=inf
        )

    def read(self, queues: Sequence[str], until: float) -> Depths | None:
        """Return the depths; queues that are not read until this time of ``monotonic`` are left out. None if the broker
        does not answer in time. The thread continues after that, and the next caller gets its result.
        """
        self._queues, self._until = queues, until
        return self._reader.start()(until)

    def _ask(self) -> Depths:
        found = Depths({}, {})
        broker = self._connect()
        for queue in self._queues:
            found.waiting[queue] = broker.depth(queue)
            found.dead[queue] = broker.dead_letters(queue)
            if monotonic() > self._until:
                break
        return found
