"""Time limit and stop condition of a fetch."""

import time
from typing import Protocol

from sluice.jobs.programs.unfit import Away, Stopped

#: Maximum seconds between two checks during a wait, so a stop is noticed within this time.
LOOK_S = 0.1


class Stop(Protocol):
    """The part of ``threading.Event`` that is needed here."""

    def is_set(self) -> bool: ...


class Patience:
    """Clock of one fetch, started by the constructor. It covers the wait for others, the fetch and the unpacking."""

    def __init__(self, stop: Stop, timeout_s: float) -> None:
        self._stop = stop
        self._timeout_s = timeout_s
        self._deadline = time.monotonic() + timeout_s

    def check(self) -> None:
        """Raise Stopped if ``stop`` is set, or Away if the time is over."""
        if self._stop.is_set():
            raise Stopped("it was stopped")
        if time.monotonic() >= self._deadline:
            raise Away(f"it took longer than {self._timeout_s:g} s")

    def look_s(self) -> float:
        """Make a ``check``, and return the seconds that the caller may wait before the next one."""
        self.check()
        return max(0.001, min(LOOK_S, self._deadline - time.monotonic()))

    def pause(self) -> None:
        time.sleep(min(0.02, self.look_s()))

    def left_s(self) -> float:
        return max(1.0, self._deadline - time.monotonic())
