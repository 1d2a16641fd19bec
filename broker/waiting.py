"""Queue at which dramatiq's worker threads wait.

By default they wait with a timeout, and check again and again whether they have to end. That would be half of the work
of an idle process. Here they wait until there is a message, or until the queue is closed.
"""

from queue import Empty, PriorityQueue
from typing import Any

#: Seconds between two checks once the queue is closed.
LOOK_S = 0.05


class WorkQueue(PriorityQueue[Any]):
    """Work queue of dramatiq's worker. ``close`` is called just before the threads are stopped."""

    def __init__(self) -> None:
        super().__init__()
        self._closed = False

    def get(self, block: bool = True, timeout: float | None = None) -> Any:  # noqa: ARG002, FBT001, FBT002 - as the base has them
        with self.not_empty:
            if block:
                self.not_empty.wait_for(self._stirs)
            if block and not self._qsize():
                self.not_empty.wait(LOOK_S)
            if not self._qsize():
                raise Empty
            item = self._get()
            self.not_full.notify()
            return item

    def close(self) -> None:
        with self.mutex:
            self._closed = True
            self.not_empty.notify_all()

    def _stirs(self) -> bool:
        return bool(self._closed or self._qsize())
