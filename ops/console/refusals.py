"""Tokens that were wrong: each is answered after a pause, and told to the log.

What holds:

- They are answered one after another, whoever sends them, and the later the more there have been lately. A right token
  waits for none of them: nobody is kept out by the mistakes of others.
- None waits longer than ``WAIT_S_MAX``. Who guesses by many connections at once has as many guesses in that time as
  there are connections, and no more.
- The log has each address once in ``TOLD_EVERY``, and ``LINES_MAX`` addresses in that time, whatever a proxy says.
"""

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Lock

_LOG = logging.getLogger("sluice.console")

#: The first of them waits so long, each that follows twice as long as the one before, up to the most.
PAUSE_S, PAUSE_S_MAX = 0.25, 4.0
WAIT_S_MAX = 8.0
#: After so long without any the next is the first again.
FORGOTTEN_AFTER = timedelta(minutes=1)
TOLD_EVERY = timedelta(minutes=1)
#: So many addresses are remembered as told.
_ADDRESSES_MAX = 1000
#: Lines of the log in ``TOLD_EVERY``.
LINES_MAX = 20
_NEVER = datetime.min.replace(tzinfo=UTC)


class Refusals:
    """Several threads may refuse at once."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._lock = Lock()
        self._pause_s = PAUSE_S
        self._last = self._answered = _NEVER
        self._told: dict[str, datetime] = {}
        self._lines_since, self._lines = _NEVER, 0

    def refused(self, address: str) -> float:
        """A token from there was wrong: for how many seconds its answer is to wait."""
        with self._lock:
            now = self._clock()
            if now - self._last > FORGOTTEN_AFTER:
                self._pause_s = PAUSE_S
            behind = max(now, self._answered) + timedelta(seconds=self._pause_s)
            self._answered = min(behind, now + timedelta(seconds=WAIT_S_MAX))
            self._pause_s, self._last = min(2 * self._pause_s, PAUSE_S_MAX), now
            is_to_be_told = self._is_to_be_told(address, now)
            wait_s = (self._answered - now).total_seconds()
        if is_to_be_told:
            _LOG.warning("a token was refused, from %s", address)
        return wait_s

    def _is_to_be_told(self, address: str, now: datetime) -> bool:
        if now - self._lines_since >= TOLD_EVERY:
            self._lines_since, self._lines = now, 0
        if now - self._told.get(address, _NEVER) < TOLD_EVERY or self._lines == LINES_MAX:
            return False
        self._lines += 1
        # Put in anew it stands last, so that the first is the one that was told the longest ago.
        self._told.pop(address, None)
        if len(self._told) == _ADDRESSES_MAX:
            del self._told[next(iter(self._told))]
        self._told[address] = now
        return True
