"""Outages of a server, as one process sees them: one log line at the start, and one at the end.

Every component of a process that uses the server reports to the same ``OutageLog`` instead of logging its own errors.
The first failure is the start. The outage ends when each part that has failed was answered again, because one part may
be back before another: a queue can be read while its server refuses to publish. Work that an outage prevents is
counted, and the last line has the totals. An ``Unreachable`` error carries the log of its server, so the code that
handles the error needs no reference to it.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

from sluice.jobs.errors import SluiceError, Unreachable

_LOG = logging.getLogger("sluice.outages")

#: Seconds after the end of an outage in which errors of it may still arrive: 2, twice the longest pause between two
#: attempts to connect.
LATE_S = 2.0
#: Text for notifications that an outage of the broker has prevented. Their work is in the ledger.
NOT_SENT = "notifications not sent now, but again from the ledger"
#: Text for a start without a check whether the broker belongs to this installation. The first use checks it.
OWNER_UNCHECKED = "checks of the broker's owner made later"
#: Maximum number of characters of an error in one line.
LENGTH_MAX = 300


class OutageLog:
    """Outages of one server. ``server`` names it with its address, for example "the ledger postgresql://db/sluice".
    ``clock`` returns monotonic seconds."""

    def __init__(self, server: str, clock: Callable[[], float]) -> None:
        self.server = server
        self._clock = clock
        self._lock = Lock()
        self._failing: set[str] = set()
        self._missed: Counter[str] = Counter()
        self._began_at: float | None = None
        self._needs_action = False
        self._ended_at = float("-inf")

    @property
    def is_open(self) -> bool:
        """True during an outage."""
        return self._began_at is not None

    def failed(self, error: object, *, part: str = "") -> None:
        """Note that a part of the process got no answer. The first failure begins the outage, unless it may belong to
        one that has just ended: then the next failure begins it. An error on which a person must act has its own line,
        once in an outage."""
        with self._lock:
            if _MUTED.get() or (self._began_at is None and self._is_late()):
                return
            self._failing.add(part)
            if isinstance(error, Unreachable) and error.needs_action and not self._needs_action:
                self._needs_action = True
                _LOG.error("%s refuses this process: %s %s", self.server, _one_line(error), error.advice)
            if self._began_at is None:
                self._began_at = self._clock()
                self._missed.clear()
                _LOG.warning(
                    "%s is unreachable; work that needs it waits, and attempts are repeated: %s",
                    self.server,
                    _one_line(error),
                )

    def answered(self, *, part: str = "") -> None:
        """Note that a part of the process got an answer, or needs none any more. The last part ends the outage."""
        if self._began_at is None:
            return
        with self._lock:
            self._failing.discard(part)
            if self._failing or self._began_at is None:
                return
            self._needs_action = False
            now = self._clock()
            lasted_s, self._began_at, self._ended_at = now - self._began_at, None, now
            totals = "".join(f"; {what}: {count}" for what, count in sorted(self._missed.items()))
            _LOG.info("%s answers again, after %.1f s%s", self.server, lasted_s, totals)

    def count(self, what: str, count: int) -> bool:
        """Count work for the last line of the outage. Return False outside of an outage."""
        with self._lock:
            if self._began_at is None:
                return False
            self._missed[what] += count
            return True

    def missed(self, what: str, count: int, error: SluiceError) -> None:
        """Count work that an outage has prevented. Outside of an outage the error is logged, because nothing else
        reports it."""
        if self.count(what, count):
            return
        level = logging.DEBUG if self._is_late() else logging.WARNING
        _LOG.log(level, "%s (%d): %s", what, count, _one_line(error))

    def _is_late(self) -> bool:
        """Return whether an error of this moment may belong to the outage that ended last."""
        return self._clock() - self._ended_at < LATE_S


_MUTED: ContextVar[bool] = ContextVar("muted", default=False)


@contextmanager
def muted() -> Iterator[None]:
    """Begin no outage in this thread while the block lasts, because the block logs it itself."""
    token = _MUTED.set(True)
    try:
        yield
    finally:
        _MUTED.reset(token)


def missed(error: Unreachable, what: str, count: int = 1) -> None:
    """Count work that this error has prevented, in the outage of its server. ``what`` names the work and its fate, for
    example "notifications not sent"."""
    if error.outages is not None:
        error.outages.missed(what, count, error)
    else:
        _LOG.warning("%s (%d): %s", what, count, _one_line(error))


def _one_line(error: object) -> str:
    text = " ".join((error.what if isinstance(error, SluiceError) else str(error)).split())
    text = text or type(error).__name__
    return text if len(text) <= LENGTH_MAX else f"{text[:LENGTH_MAX]} …"
