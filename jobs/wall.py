"""Wall time: the time shown by the clocks of a zone, and the instant that corresponds to it."""

from datetime import UTC, datetime, timedelta, tzinfo


def wall_of(instant: datetime, zone: tzinfo) -> datetime:
    """Return the wall time in the zone at this instant, without the zone."""
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)


def instant_of(wall: datetime, zone: tzinfo) -> datetime:
    """Return the UTC instant at which clocks in the zone show this time.

    If they show it twice, return the first instant. If they skip it, return the instant of the change, at the end of
    the gap. A later wall time never has an earlier instant.
    """
    instant = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if wall_of(instant, zone) == wall:
        return instant
    return _gap_end(wall.replace(tzinfo=zone, fold=1).astimezone(UTC), instant, zone)


def _gap_end(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """Return the instant at which clocks are put forward. It is after ``before`` and at most ``after``."""
    offset = before.astimezone(zone).utcoffset()
    while after - before > timedelta.resolution:
        middle = before + (after - before) // 2
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after
