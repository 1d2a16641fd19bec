"""Errors that a thread survives, because its process would be useless without it.

Such an error is unexpected, so it is logged with its traceback. The same error may occur in each period. So each kind
is logged once, and again only after a period without an error.
"""

from logging import Logger

from sluice.jobs.errors import SluiceError


class Complaints:
    """Error log of one thread. ``about`` names the operation that failed."""

    def __init__(self, log: Logger, about: str) -> None:
        self._log = log
        self._about = about
        self._told: set[tuple[type[Exception], str]] = set()

    def tell(self, error: Exception) -> None:
        """Log an error that is being handled, unless its kind was logged since the last success."""
        kind = (type(error), error.what if isinstance(error, SluiceError) else "")
        if kind not in self._told:
            self._told.add(kind)
            self._log.error("%s: %s", self._about, error, exc_info=error)

    def forget(self) -> None:
        """Note a success, so that every kind of error is logged again."""
        self._told.clear()
