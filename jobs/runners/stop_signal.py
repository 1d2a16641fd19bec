"""Limits at which a run must end although its work has not: its timeout, or a stop by the worker."""

import threading
import time
from enum import StrEnum


class Halt(StrEnum):
    """Reason why a run was ended from outside."""

    TIMED_OUT = "timed out"
    STOPPED = "stopped"
    LINGERED = "lingered"


class Limits:
    """Clock of one run, started by the constructor. ``stop`` belongs to the worker and is only read here.

    After the work has reported its own end, ``linger`` replaces both limits. A process that is slow to exit does not
    invalidate a reported result.
    """

    def __init__(self, stop: threading.Event, timeout_s: float | None) -> None:
        self.timeout_s = timeout_s
        self._stop = stop
        self._deadline = float("inf") if timeout_s is None else time.monotonic() + timeout_s
        self._lingering = False

    def reached(self) -> Halt | None:
        """Return the limit that has been passed, or None. The timeout comes first: a run that is both timed out and
        stopped counts as timed out.
        """
        if time.monotonic() >= self._deadline:
            return Halt.LINGERED if self._lingering else Halt.TIMED_OUT
        if self._stop.is_set() and not self._lingering:
            return Halt.STOPPED
        return None

    def linger(self, linger_s: float) -> None:
        self._lingering = True
        self._deadline = time.monotonic() + linger_s

    def within_s(self, wait_s: float) -> float:
        """Return the seconds that a caller may wait without missing the deadline, at most ``wait_s``."""
        return max(0.0, min(wait_s, self._deadline - time.monotonic()))

    def wait(self, wait_s: float) -> None:
        """Wait until the stop or the deadline, at most ``wait_s``."""
        self._stop.wait(self.within_s(wait_s))
