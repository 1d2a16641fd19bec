"""When a run has to end though its work has not: its time is up, or somebody wants it stopped."""

import threading
import time
from enum import StrEnum


class Halt(StrEnum):
    """Why a run was ended from outside."""

    TIMED_OUT = "timed out"
    STOPPED = "stopped"
    LINGERED = "lingered"


class Limits:
    """The clock of one run, started by making it. ``stop`` belongs to the worker and is only read here.

    Once the work reports its own end, ``linger`` replaces both limits: a result that has been
    reported is not undone by a process that is slow to leave.
    """

    def __init__(self, stop: threading.Event, timeout_s: float | None) -> None:
        self.timeout_s = timeout_s
        self._stop = stop
        self._deadline = float("inf") if timeout_s is None else time.monotonic() + timeout_s
        self._lingering = False

    def reached(self) -> Halt | None:
        """The limit that has been passed. Time comes first: a timed-out run that is stopped too stays one."""
        if time.monotonic() >= self._deadline:
            return Halt.LINGERED if self._lingering else Halt.TIMED_OUT
        if self._stop.is_set() and not self._lingering:
            return Halt.STOPPED
        return None

    def linger(self, linger_s: float) -> None:
        self._lingering = True
        self._deadline = time.monotonic() + linger_s

    def within_s(self, wait_s: float) -> float:
        """How long one may wait without missing the deadline, at most ``wait_s``."""
        return max(0.0, min(wait_s, self._deadline - time.monotonic()))
