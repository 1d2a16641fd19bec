"""Which ends of single jobs are worth recording in one round trip.

An end is recorded by one statement if nothing else follows from it than the claim of one child, or nothing at all
(``transactions.settle_alone``). Otherwise that statement rolls back, and its cost is lost. The jobs of an app mostly
have the same kind of children. So after a vain try the next ends of the app are not tried.
"""

from collections import Counter
from threading import Lock

#: Ends of an app that are not tried after a vain try: 15, so that at most one end in sixteen is tried in vain.
PASSED_OVER = 15


class LoneEnds:
    """Counts, for each app, how many of its next ends are not tried. It may be used by several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._left: Counter[str] = Counter()

    def worth_trying(self, app: str) -> bool:
        """Return whether to try the next end of this app, and count it."""
        with self._lock:
            if not self._left[app]:
                return True
            self._left[app] -= 1
            return False

    def note_vain(self, app: str) -> None:
        with self._lock:
            self._left[app] = PASSED_OVER
