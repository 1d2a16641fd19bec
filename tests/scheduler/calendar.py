"""A calendar that is walked minute by minute: an oracle for due times that shares nothing with the scheduler."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

MINUTE = timedelta(minutes=1)

#: Whether clocks that show this, without a zone, say that it is time.
Asks = Callable[[datetime], bool]


def due_times(asks: Asks, zone: str, first: datetime, end: datetime) -> list[datetime]:
    """Every instant, from one whole minute until before another, at which clocks in the zone show what is asked for,
    for the first time; or pass over it."""
    return [instant for instant, walls in _minutes(zone, first, end) if any(map(asks, walls))]


@cache
def _minutes(zone: str, first: datetime, end: datetime) -> tuple[tuple[datetime, tuple[datetime, ...]], ...]:
    return tuple(_walked(ZoneInfo(zone), first, end))


def _walked(
    zone: ZoneInfo, first: datetime, end: datetime
) -> Iterator[tuple[datetime, tuple[datetime, ...]]]:
    """Each minute with what clocks show then that they have not shown before."""
    shown = (first - MINUTE).astimezone(zone).replace(tzinfo=None)
    instant = first
    while instant < end:
        local = instant.astimezone(zone)
        wall = local.replace(tzinfo=None)
        if local.fold == 0:
            yield instant, tuple(shown + MINUTE * n for n in range(1, round((wall - shown) / MINUTE) + 1))
            shown = wall
        instant += MINUTE


def at(text: str) -> datetime:
    """``2026-03-29 01:00``, in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def moments(first: str, end: str) -> st.SearchStrategy[datetime]:
    """Any instant between two."""
    bounds = [at(text).replace(tzinfo=None) for text in (first, end)]
    return st.datetimes(*bounds, timezones=st.just(UTC))
