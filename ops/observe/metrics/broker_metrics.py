"""Messages that wait at the broker. They are counted in a separate thread, so that readers of metrics wait for a
bounded time.
"""

import logging
from collections.abc import Callable, Sequence
from threading import Lock, Thread
from time import monotonic

from msgspec import Struct

from sluice.broker.interface import Broker
from sluice.jobs.errors import SluiceError

_LOG = logging.getLogger("sluice.metrics")

#: Seconds that a reader waits, and seconds that the thread spends on queues. The remaining queues are left out.
PATIENCE_S = 2.0


class Depths(Struct, frozen=True):
    """Number of waiting messages and of dead letters, by queue."""

    waiting: dict[str, int]
    dead: dict[str, int]


class Carried:
    """Reader of the depths of queues. ``connect`` returns the broker. One thread reads at a time."""

    def __init__(self, connect: Callable[[], Broker]) -> None:
        self._connect = connect
        self._lock = Lock()
        self._asking: Thread | None = None
        self._found: Depths | None = None

    def read(self, queues: Sequence[str]) -> Depths | None:
        """Return the depths. None if the broker does not answer in time.

        The thread continues after that. The next caller joins it if it is still running, and gets its result.
        """
        with self._lock:
            if self._asking is None or not self._asking.is_alive():
                self._found = None
                self._asking = Thread(target=self._ask, args=[queues], name="sluice-depths", daemon=True)
                self._asking.start()
            asking = self._asking
        asking.join(PATIENCE_S)
        return self._found

    def _ask(self, queues: Sequence[str]) -> None:
        found = Depths({}, {})
        until = monotonic() + PATIENCE_S
        try:
            broker = self._connect()
            for queue in queues:
                found.waiting[queue] = broker.depth(queue)
                found.dead[queue] = broker.dead_letters(queue)
                if monotonic() > until:
                    break
        except SluiceError as error:
            _LOG.warning("the number of messages at the broker is unknown: %s", error)
            return
        self._found = found
