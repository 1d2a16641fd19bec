"""Cron expressions, and the wall time of a zone.

A cron expression has five fields, which are read as cron itself reads them. Weekdays count from Sunday, which is 0 and
7. If both the day and the weekday are restricted, a match of either is enough. A field that begins with ``*`` does not
count as restricted. ``last`` or ``L`` is the last day of the month.

Wall time is the time shown by the clocks of a zone. ``wall_of`` converts an instant to wall time, and ``instant_of``
returns the instant that corresponds to a wall time.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta, tzinfo
from difflib import get_close_matches

from msgspec import Struct

_ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_LAST = frozenset({"last", "l"})
_PART = re.compile(r"(?:\*|(?P<first>[a-z0-9]+)(?:-(?P<last>[a-z0-9]+))?)(?:/(?P<step>\d+))?", re.ASCII)
_DAYS_OF_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
#: Years within which any expression matches: 29 February on a given weekday, across a century without a leap day.
_YEARS_APART_MAX = 40


class _Field(Struct, frozen=True, kw_only=True):
    name: str
    low: int
    high: int
    words: Mapping[str, int] = {}


_MINUTE = _Field(name="minute", low=0, high=59)
_HOUR = _Field(name="hour", low=0, high=23)
_DAY = _Field(name="day", low=1, high=31)
_MONTH = _Field(name="month", low=1, high=12, words={word: place + 1 for place, word in enumerate(_MONTHS)})
_WEEKDAY = _Field(name="weekday", low=0, high=7, words={word: place for place, word in enumerate(_WEEKDAYS)})
_FIELDS = (_MINUTE, _HOUR, _DAY, _MONTH, _WEEKDAY)


class Cron(Struct, frozen=True, kw_only=True):
    """Cron expression, parsed.

    ``weekdays`` are 0 to 6, from Sunday. With ``either`` a day matches if its number or its weekday is listed.
    Otherwise both must be listed.
    """

    text: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    last_day: bool
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    either: bool

    @classmethod
    def parse(cls, text: str) -> "Cron":
        """Parse a cron expression. Raises ValueError with all fields that are wrong."""
        fields = _fields(text)
        days = [part for part in fields[2].split(",") if part not in _LAST]
        read: list[tuple[int, ...]] = []
        wrong: list[str] = []
        for field, written in zip(_FIELDS, [*fields[:2], ",".join(days), *fields[3:]], strict=True):
            try:
                read.append(_numbers(field, written) if written or field is not _DAY else ())
            except ValueError as error:
                wrong.append(f"{field.name}: {error}")
        if wrong:
            raise ValueError("; ".join(wrong))
        cron = cls(
            text=" ".join(text.split()),
            minutes=read[0],
            hours=read[1],
            days=read[2],
            last_day=len(days) < len(fields[2].split(",")),
            months=read[3],
            weekdays=tuple(sorted({day % 7 for day in read[4]})),
            either=not fields[2].startswith("*") and not fields[4].startswith("*"),
        )
        if not cron._comes:
            raise ValueError(f"{text!r} never fires: none of its months has such a day")
        return cron

    def serves(self, day: date) -> bool:
        """Return whether the expression matches any time of this day."""
        is_last = (day + timedelta(days=1)).day == 1
        by_number = day.day in self.days or (self.last_day and is_last)
        by_weekday = day.isoweekday() % 7 in self.weekdays
        return day.month in self.months and (
            (by_number or by_weekday) if self.either else (by_number and by_weekday)
        )

    def days_from(self, first: date) -> Iterator[date]:
        """Yield the matching days from this day on, for ``_YEARS_APART_MAX`` years: no pause between two matches is
        longer.
        """
        for ordinal in range(
            first.toordinal(), first.replace(first.year + _YEARS_APART_MAX, 1, 1).toordinal()
        ):
            if self.serves(day := date.fromordinal(ordinal)):
                yield day

    @property
    def _comes(self) -> bool:
        """True if such a day exists, at least in leap years."""
        fits = any(day <= _DAYS_OF_MONTH[month - 1] for month in self.months for day in self.days)
        return self.either or self.last_day or fits


def _fields(text: str) -> list[str]:
    """Return the five fields of an expression or of its alias."""
    if text.strip().startswith("@"):
        alias = text.strip().lower()
        if alias not in _ALIASES:
            raise ValueError(f"{alias} is none of {', '.join(_ALIASES)}{_nearest(alias, _ALIASES)}")
        return _ALIASES[alias].split()
    fields = text.lower().split()
    if len(fields) != len(_FIELDS):
        count = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
        raise ValueError(f"{text!r} has {count}; cron has five: {' '.join(field.name for field in _FIELDS)}")
    return fields


def _numbers(field: _Field, written: str) -> tuple[int, ...]:
    return tuple(sorted({number for part in written.split(",") for number in _part(field, part)}))


def _part(field: _Field, part: str) -> range:
    found = _PART.fullmatch(part)
    if found is None:
        raise ValueError(f"{part!r} is not like 5, 1-5, */5, 1-5/2 or a list of such")
    first, last = field.low, field.high
    if found["first"]:
        first = _number(field, found["first"])
        last = _number(field, found["last"]) if found["last"] else field.high if found["step"] else first
    if field is _WEEKDAY and last == 0 < first:
        last = 7
    if last < first:
        raise ValueError(f"{part!r} ends before it begins; write it as two")
    step = int(found["step"] or 1)
    if found["step"] and not 1 <= step <= last - first:
        raise ValueError(f"the step of {part!r} is not from 1 to {last - first}")
    return range(first, last + 1, step)


def _number(field: _Field, word: str) -> int:
    if word in field.words:
        return field.words[word]
    if not word.isdigit():
        what = f"is no {field.name}{_nearest(word, field.words)}" if field.words else "is no number"
        raise ValueError(f"{word!r} {what}")
    if not field.low <= int(word) <= field.high:
        raise ValueError(f"{word} is not from {field.low} to {field.high}")
    return int(word)


def _nearest(word: str, known: Mapping[str, object]) -> str:
    matches = get_close_matches(word, list(known), n=1)
    return f" (did you mean {matches[0]}?)" if matches else ""


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
