"""Wrong tokens: each is answered after a pause, and logged.

Invariants:

- Wrong tokens are answered one after another, whichever clients send them. The pause grows with the number of
  recent wrong tokens. A right token never waits, so mistakes of other clients lock out no user.
- No answer waits longer than ``WAIT_S_MAX``. A client that guesses on many connections at the same time has at most
  one guess per connection in that time.
- The log has each address at most once in ``TOLD_EVERY``, and at most ``LINES_MAX`` addresses in that time,
  whatever address a proxy reports.
"""

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Lock

_LOG = logging.getLogger("sluice.console")

#: Seconds of the first pause. Each further pause is twice as long as the previous one, up to the maximum.
PAUSE_S, PAUSE_S_MAX = 0.25, 4.0
WAIT_S_MAX = 8.0
#: Time without a wrong token after which the next pause is the first again.
FORGOTTEN_AFTER = timedelta(minutes=1)
TOLD_EVERY = timedelta(minutes=1)
#: Greatest number of logged addresses to remember.
_ADDRESSES_MAX = 1000
#: Log lines in ``TOLD_EVERY``.
LINES_MAX = 20
_NEVER = datetime.min.replace(tzinfo=UTC)


class Refusals:
    """Pauses after wrong tokens. Several threads may use it at the same time."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._lock = Lock()
        self._pause_s = PAUSE_S
        self._last = self._answered = _NEVER
        self._told: dict[str, datetime] = {}
        self._lines_since, self._lines = _NEVER, 0

    def refused(self, address: str) -> float:
        """Record a wrong token from this address. Return the seconds that its answer must wait."""
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
        # Insert it at the end, so that the first address is always the one logged longest ago.
        self._told.pop(address, None)
        if len(self._told) == _ADDRESSES_MAX:
            del self._told[next(iter(self._told))]
        self._told[address] = now
        return True
