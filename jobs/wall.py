"""Wall time: what the clocks of a zone show, and which instant that is."""

from datetime import UTC, datetime, timedelta, tzinfo


def wall_of(instant: datetime, zone: tzinfo) -> datetime:
    """What clocks in the zone show at this instant, without the zone."""
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)


def instant_of(wall: datetime, zone: tzinfo) -> datetime:
    """The instant at which clocks in the zone show this, in UTC.

    Of a time that they show twice it is the first. One that they pass over has the instant at which they do so, the
    gap's end. A later wall time never has an earlier instant.
    """
    instant = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if wall_of(instant, zone) == wall:
        return instant
    return _gap_end(wall.replace(tzinfo=zone, fold=1).astimezone(UTC), instant, zone)


def _gap_end(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """The instant at which clocks are put forward, which lies after the one and no later than the other."""
    offset = before.astimezone(zone).utcoffset()
    while after - before > timedelta.resolution:
        middle = before + (after - before) // 2
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after
