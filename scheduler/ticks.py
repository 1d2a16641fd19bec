"""The groomer's ticks."""

from datetime import UTC, datetime

from apscheduler.triggers.interval import IntervalTrigger


class Ticks:
    """A tick every period. Ticks that were missed are not made up for: one groomer pass sees to all."""

    def __init__(self, period_s: float, start: datetime) -> None:
        self.period_s = period_s
        self._trigger = IntervalTrigger(seconds=period_s, start_date=start, timezone=UTC)

    def after(self, now: datetime) -> datetime:
        """The first tick later than now."""
        due: datetime = self._trigger.get_next_fire_time(None, now)
        return due if due > now else self._trigger.get_next_fire_time(due, now)
