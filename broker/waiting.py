"""What dramatiq's worker threads wait at.

They ask with a time limit and look whether they are to end, again and again, and that would be half of what an idle
process does. Here they wait until there is something to do, or until the queue is closed.
"""

from queue import Empty, PriorityQueue
from typing import Any

#: Once it is closed they look so often.
LOOK_S = 0.05


class WorkQueue(PriorityQueue[Any]):
    """``close`` is called once they are about to be told to end."""

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
