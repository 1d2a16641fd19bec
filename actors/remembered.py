"""Memory of reported facts, because a notification sometimes comes twice."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock

#: Number of facts that are remembered. An older one may be reported twice.
MOST = 10_000


class Remembered:
    def __init__(self) -> None:
        self._told: OrderedDict[Hashable, None] = OrderedDict()
        self._lock = Lock()

    def is_news(self, what: Hashable) -> bool:
        """Return whether this fact is new, and remember it."""
        with self._lock:
            if what in self._told:
                return False
            self._told[what] = None
            if len(self._told) > MOST:
                self._told.popitem(last=False)
        return True
