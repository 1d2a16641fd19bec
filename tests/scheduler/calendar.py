"""A calendar that is walked minute by minute: an oracle for due times that shares nothing with the scheduler."""

from array import array
from collections.abc import Callable
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
    before, *reached = _reached(zone, first, end)
    found, start = [], first.replace(tzinfo=None)
    for place, minute in enumerate(reached):
        if any(asks(start + MINUTE * shown) for shown in range(before + 1, minute + 1)):
            found.append(first + MINUTE * place)
        before = minute
    return found


@cache
def _reached(zone: str, first: datetime, end: datetime) -> "array[int]":
    """How far clocks in the zone have come, in minutes after what a clock in UTC shows at first: a minute before that,
    and in each minute of the span. While they show an hour for the second time they come no further.

    Four bytes a minute: datetimes, of three zones and a year, took a gigabyte.
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
    """``2026-03-29 01:00``, in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def moments(first: str, end: str) -> st.SearchStrategy[datetime]:
    """Any instant between two."""
    bounds = [at(text).replace(tzinfo=None) for text in (first, end)]
    return st.datetimes(*bounds, timezones=st.just(UTC))
