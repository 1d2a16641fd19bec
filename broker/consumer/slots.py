"""Slots: the number of messages that a process may run at the same time. A slot is taken before a message is. It is
freed when the handler has ended, even if the message was acknowledged earlier.

Two threads may take the last slot at the same time: the intake thread for a message, and a handler for work that
follows from its message (``SlotReservation``). One of them finds none, and leaves the message or the work to the
broker. Handlers free slots from their own threads.
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


class SlotReservation:
    """A slot of a pool that the handler of a message takes for work that follows from it, if one is free.

    The work then runs in the handler's thread after the message's own slot is freed. So there are never more busy
    threads than slots.
    """

    def __init__(self, pool: SlotPool) -> None:
        self._pool = pool
        self._is_taken = False

    def take(self) -> bool:
        """Take the slot, and return whether it is taken."""
        self._is_taken = self._is_taken or bool(self._pool.take())
        return self._is_taken

    def release(self) -> None:
        """Free the slot if it is taken."""
        if self._is_taken:
            self._is_taken = False
            self._pool.release()


class Slots:
    """Pools of slots: for Sluice's own queues, for apps, and for apps whose handlers only start coroutines.

    So long jobs cannot keep the planner waiting, nor the planner the jobs, nor coroutines without a free place the jobs
    in threads. ``starts_coroutines`` returns whether the queue is of the last kind. It is called once for each queue,
    when the queue joins.
    """

    def __init__(
        self,
        *,
        control: int,
        apps: int,
        coroutines: int = 0,
        starts_coroutines: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.control = SlotPool(control)
        self.apps = SlotPool(apps)
        self.coroutines = SlotPool(coroutines)
        self._starts_coroutines = starts_coroutines
        self._pools: dict[str, SlotPool] = {}

    @property
    def pools(self) -> tuple[SlotPool, ...]:
        return (self.control, self.apps, self.coroutines)

    @property
    def total(self) -> int:
        return sum(pool.size for pool in self.pools)

    def of(self, queue: str) -> SlotPool:
        """Return the pool of a queue, always the same one."""
        if queue not in self._pools:
            self._pools[queue] = self._chosen(queue)
        return self._pools[queue]

    def close(self) -> None:
        for pool in self.pools:
            pool.close()

    def _chosen(self, queue: str) -> SlotPool:
        if queue in CONTROL:
            return self.control
        return self.coroutines if self.coroutines.size and self._starts_coroutines(queue) else self.apps
