"""Calendar that is walked minute by minute: an oracle for due times that shares no code with the scheduler."""

from array import array
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

MINUTE = timedelta(minutes=1)

#: Returns True if it is time when clocks show this, without a zone.
Asks = Callable[[datetime], bool]


def due_times(asks: Asks, zone: str, first: datetime, end: datetime) -> list[datetime]:
    """Return every instant at which clocks in the zone show a due time for the first time, or skip it.

    The instants are whole minutes, from ``first`` until before ``end``.
    """
    before, *reached = _reached(zone, first, end)
    found, start = [], first.replace(tzinfo=None)
    for place, minute in enumerate(reached):
        if any(asks(start + MINUTE * shown) for shown in range(before + 1, minute + 1)):
            found.append(first + MINUTE * place)
        before = minute
    return found


@cache
def _reached(zone: str, first: datetime, end: datetime) -> "array[int]":
    """Return how far clocks in the zone have advanced, in minutes since the time that a UTC clock shows at ``first``.

    The first value is for the minute before ``first``, and one value follows for each minute of the span. While
    clocks show an hour for the second time, they do not advance.

    A value takes four bytes: datetimes, for three zones and a year, took a gigabyte.
    """
    clock, start = ZoneInfo(zone), first.replace(tzinfo=None)
    found, instant = array("i"), first - MINUTE
    while instant < end:
        local = instant.astimezone(clock)
        shown = round((local.replace(tzinfo=None) - start) / MINUTE)
        found.append(shown if local.fold == 0 or not found else found[-1])
        instant += MINUTE
    return found


def at(text: str) -> datetime:
    """Return the time in UTC that a text like ``2026-03-29 01:00`` describes."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def moments(first: str, end: str) -> st.SearchStrategy[datetime]:
    """Draw any instant between these two."""
    bounds = [at(text).replace(tzinfo=None) for text in (first, end)]
    return st.datetimes(*bounds, timezones=st.just(UTC))
