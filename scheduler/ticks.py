"""The groomer's ticks."""

import math

from msgspec import Struct


class Ticks(Struct, frozen=True):
    """A tick every period, by a clock that only goes forward: one that is set back by an hour would have the next tick
    wait for as long. Ticks that were missed are not made up for: one groomer pass sees to all."""

    period_s: float
    start_s: float

    def after(self, now_s: float) -> float:
        """The first tick later than now."""
        passed = math.floor((now_s - self.start_s) / self.period_s)
        due_s = self.start_s + (passed + 1) * self.period_s
        return due_s if due_s > now_s else due_s + self.period_s
