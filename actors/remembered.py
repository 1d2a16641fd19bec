"""What has been told before: a hint comes twice now and then."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock

#: So many are remembered; of those before, one may be told twice.
MOST = 10_000


class Remembered:
    def __init__(self) -> None:
        self._told: OrderedDict[Hashable, None] = OrderedDict()
        self._lock = Lock()

    def is_news(self, what: Hashable) -> bool:
        """Whether this has not been told; from now on it has."""
        with self._lock:
            if what in self._told:
                return False
            self._told[what] = None
            if len(self._told) > MOST:
                self._told.popitem(last=False)
        return True
