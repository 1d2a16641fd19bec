"""How many messages a process may run at once. A slot is taken before a message is, and freed when its
handler has ended, however early the message was acknowledged.

Only the intake thread takes slots, so counting them is all there is to it: no two takers race. Handlers
free them from their own threads.
"""

from collections.abc import Callable
from threading import Lock

from sluice.broker.messages import CONTROL


class Pool:
    """``size`` slots. ``on_free`` is called, by the freeing thread, when one can be taken again."""

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
        """How many could be taken now; none once the pool is closed."""
        return 0 if self._closed else self.size - self._busy

    def take(self, most: int = 1) -> int:
        """Takes as many as are free, up to ``most``; says how many."""
        with self._lock:
            taken = min(most, self.free)
            self._busy += taken
            return taken

    def put_back(self, unused: int) -> None:
        """Slots for which there was no message. Nobody is told: who took them knows."""
        with self._lock:
            self._busy -= unused

    def release(self) -> None:
        """A handler has ended."""
        self.put_back(1)
        self.on_free()

    def close(self) -> None:
        """No slot is taken from now on."""
        with self._lock:
            self._closed = True


class Slots:
    """Two pools, so that long jobs cannot keep the planner waiting, nor the planner the jobs."""

    def __init__(self, *, control: int, apps: int) -> None:
        self.control = Pool(control)
        self.apps = Pool(apps)

    @property
    def total(self) -> int:
        return self.control.size + self.apps.size

    def of(self, queue: str) -> Pool:
        return self.control if queue in CONTROL else self.apps

    def close(self) -> None:
        self.control.close()
        self.apps.close()
