"""Order of queues that share slots. Pure."""

from collections.abc import Iterable

#: Maximum number of quiet queues that are asked first, if asking an empty queue costs a round trip while a slot is
#: free.
QUIET_FIRST = 8


class Rota:
    """Order in which no queue waits indefinitely.

    First come a few quiet queues, beginning with the queue that was asked longest ago. Then come the queues that had
    messages, beginning with the queue that was served longest ago.
    """

    def __init__(self, queues: Iterable[str]) -> None:
        self._quiet = dict.fromkeys(queues)
        self._busy: dict[str, None] = {}

    def add(self, queue: str) -> None:
        """Add a queue, which has not been asked yet."""
        self._quiet[queue] = None

    def order(self, *, asking_is_free: bool = False) -> list[str]:
        """Return every queue once, in the order in which to ask."""
        quiet = list(self._quiet)
        first = len(quiet) if asking_is_free else QUIET_FIRST
        return quiet[:first] + list(self._busy) + quiet[first:]

    def served(self, queue: str) -> None:
        """Note that a queue had a message, so that other queues come first."""
        self._quiet.pop(queue, None)
        self._busy.pop(queue, None)
        self._busy[queue] = None

    def was_empty(self, queue: str) -> None:
        self._busy.pop(queue, None)
        self._quiet.pop(queue, None)
        self._quiet[queue] = None
