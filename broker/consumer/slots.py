"""Slots: the number of messages that a process may run at the same time. A slot is taken before a message is. It is
freed when the handler has ended, even if the message was acknowledged earlier.

Only the intake thread takes slots, so it is enough to count them: no two takers race. Handlers free slots from their
own threads.
"""

from collections.abc import Callable
from threading import Lock

from sluice.broker.messages import CONTROL


class SlotPool:
    """Pool of ``size`` slots. The freeing thread calls ``on_free`` when a slot can be taken again."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.on_free: Callable[[], None] = lambda: None
        self._busy = 0
        self._closed = False
        self._lock = Lock()

    @property
    def busy(self) -> int:
        return self._busy

    @property
    def free(self) -> int:
        """Number of slots that can be taken now; 0 once the pool is closed."""
        return 0 if self._closed else self.size - self._busy

    def take(self, most: int = 1) -> int:
        """Take as many slots as are free, up to ``most``, and return their number."""
        with self._lock:
            taken = min(most, self.free)
            self._busy += taken
            return taken

    def put_back(self, unused: int) -> None:
        """Put back slots without a message. ``on_free`` is not called, because the caller has taken them itself."""
        with self._lock:
            self._busy -= unused

    def release(self) -> None:
        """Free the slot of a handler that has ended."""
        self.put_back(1)
        self.on_free()

    def close(self) -> None:
        """Close the pool: no slot is taken from now on."""
        with self._lock:
            self._closed = True


class Slots:
    """Two pools, so that long jobs cannot keep the planner waiting, nor the planner the jobs."""

    def __init__(self, *, control: int, apps: int) -> None:
        self.control = SlotPool(control)
        self.apps = SlotPool(apps)

    @property
    def total(self) -> int:
        return self.control.size + self.apps.size

    def of(self, queue: str) -> SlotPool:
        return self.control if queue in CONTROL else self.apps

    def close(self) -> None:
        self.control.close()
        self.apps.close()
