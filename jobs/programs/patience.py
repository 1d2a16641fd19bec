"""How long one waits for a program, and whether it is still wanted."""

import time
from typing import Protocol

from sluice.jobs.programs.unfit import Away, Stopped

#: Whoever waits looks up after this time, so a stop is noticed within it.
LOOK_S = 0.1


class Stop(Protocol):
    """What a ``threading.Event`` has, too."""

    def is_set(self) -> bool: ...


class Patience:
    """The clock of one fetch, started by making it: the wait for others, the fetch and the unpacking."""

    def __init__(self, stop: Stop, timeout_s: float) -> None:
        self._stop = stop
        self._timeout_s = timeout_s
        self._deadline = time.monotonic() + timeout_s

    def check(self) -> None:
        """Stopped where nobody wants it any more; Away where the time is up."""
        if self._stop.is_set():
            raise Stopped("it was stopped")
        if time.monotonic() >= self._deadline:
            raise Away(f"it took longer than {self._timeout_s:g} s")

    def look_s(self) -> float:
        """How long one may wait before the next ``check``, which this begins with."""
        self.check()
        return max(0.001, min(LOOK_S, self._deadline - time.monotonic()))

    def pause(self) -> None:
        time.sleep(min(0.02, self.look_s()))

    def left_s(self) -> float:
        return max(1.0, self._deadline - time.monotonic())
