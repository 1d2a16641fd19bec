"""What a thread goes on in spite of, because the process would be no good without it.

Nobody foresaw it, so it is told with its trace; and it may well be the same in each period, so each kind is told once,
and again only after all has gone well in between.
"""

from logging import Logger

from sluice.jobs.errors import SluiceError


class Complaints:
    """Of one thread. ``about`` says what came to nothing."""

    def __init__(self, log: Logger, about: str) -> None:
        self._log = log
        self._about = about
        self._told: set[tuple[type[Exception], str]] = set()

    def tell(self, error: Exception) -> None:
        """While it is being handled."""
        kind = (type(error), error.what if isinstance(error, SluiceError) else "")
        if kind not in self._told:
            self._told.add(kind)
            self._log.error("%s: %s", self._about, error, exc_info=error)

    def forget(self) -> None:
        """All went well."""
        self._told.clear()
