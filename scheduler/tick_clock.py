"""Ticks of the groomer."""

import math

from msgspec import Struct


class Ticks(Struct, frozen=True):
    """Ticks at a fixed period, by a clock that only goes forward. If the wall clock were used and set back by an hour,
    the next tick would be an hour late.

    Missed ticks are not made up for, because one groomer pass handles everything.
    """

    period_s: float
    start_s: float

    def after(self, now_s: float) -> float:
        """Return the first tick later than now."""
        passed = math.floor((now_s - self.start_s) / self.period_s)
        due_s = self.start_s + (passed + 1) * self.period_s
        return due_s if due_s > now_s else due_s + self.period_s
