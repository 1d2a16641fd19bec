"""Options for the calendar of a table's partitions, and for single partitions.

calendar = hour | day | month | {unit: one of these, format: as for strftime}
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime

from sluice.jobs.calendar import FORMATS, UNITS, Calendar
from sluice.jobs.catalogue.faults import At, Words, one_of, read_fields, unknown

#: Moments on which formats are tried. Together they reveal every mistake: a year of two digits, a clock of twelve
#: hours, a month in place of its days.
_SAMPLES = (
    datetime(1999, 12, 31, 23, tzinfo=UTC),
    datetime(2023, 1, 1, 0, tzinfo=UTC),
    datetime(2024, 2, 29, 13, tzinfo=UTC),
    datetime(2100, 3, 10, 12, tzinfo=UTC),
)
#: Characters that keys have after partitions, addresses between keys, and lists between their items.
_MARKS = ("@", "/", ",", "+")


def read_calendar(value: object, at: At, besides: Sequence[str] = ()) -> Calendar:
    """Return the calendar. An invalid option adds a fault and is replaced by a default.

    The options in ``besides`` are read elsewhere.
    """
    words = {"unit": value} if isinstance(value, str) else value
    if not isinstance(words, Mapping):
        at.add(f"{value!r} is none of {', '.join(UNITS)}, nor a mapping with unit and format")
        return Calendar()
    for word in words:
        if word not in (*_WORDS, *besides):
            at.add(unknown(word, (*_WORDS, *besides)))
    fields = read_fields(_WORDS, words, at.add)
    plain = Calendar(fields.get("unit", "day"))
    written = fields.get("format", plain.pattern)
    if written == plain.pattern or ("unit" in words and "unit" not in fields):
        return plain
    calendar = Calendar(plain.unit, written)
    try:
        _check_format(calendar)
    except ValueError as error:
        at.add(f"format: {error}")
        return plain
    return calendar


def moments_of(value: object, calendars: Sequence[Calendar]) -> tuple[int, int]:
    """Return the moments at which a partition begins and ends.

    The first of the calendars that can read the text is used, or else the default format of any unit. Raises
    ValueError if none fits. YAML and TOML deliver dates and times as objects.
    """
    if isinstance(value, datetime):
        moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value
        return _ends(calendars[0], calendars[0].at(int(moment.timestamp())))
    if isinstance(value, date):
        value = value.isoformat()
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(text, str):
        for calendar in (*calendars, *map(Calendar, UNITS)):
            try:
                return _ends(calendar, calendar.read(text))
            except ValueError:
                continue
        if (day := _day(text)) is not None:
            return _ends(Calendar("day"), day)
    raise ValueError(f"{value!r} is no partition; write it like {calendars[0].example}")


def told(calendar: Calendar) -> str:
    """Return a description for people, for example ``by day, like 2024-04-01``."""
    return f"by {calendar.unit}, like {calendar.example}"


def _ends(calendar: Calendar, partition: int) -> tuple[int, int]:
    return calendar.start_s(partition), calendar.start_s(partition + 1)


def _day(text: str) -> int | None:
    try:
        return date.fromisoformat(text).toordinal() - date(1970, 1, 1).toordinal()
    except ValueError:
        return None


def _check_format(calendar: Calendar) -> None:
    """Raise ValueError if two partitions have the same text, or if a key cannot contain the text."""
    for sample in _SAMPLES:
        partition = calendar.at(int(sample.timestamp()))
        text = calendar.write(partition)
        # Two dots separate the ends of a range, so a dot at an end would be read as a part of them.
        if not text.isprintable() or " " in text or ".." in f".{text}." or any(map(text.count, _MARKS)):
            raise ValueError(
                f"{calendar.format!r} writes {text!r}; a partition may have neither blanks nor"
                f" {' '.join(_MARKS)} in it, nor two dots, nor a dot at an end"
            )
        try:
            found = calendar.read(text)
        except (ValueError, re.error):
            raise ValueError(f"{calendar.format!r} writes {text!r}, which cannot be read again") from None
        if found != partition:
            raise ValueError(
                f"{calendar.format!r} writes {text!r} for more than one {calendar.unit};"
                f" the default is {FORMATS[calendar.unit]}"
            )


def _unit(value: object) -> str:
    return one_of(value, UNITS)


def _format(value: object) -> str:
    if not isinstance(value, str) or "%" not in value or "\0" in value:
        raise ValueError(f"{value!r} is not a text with parts such as %Y, as for strftime")
    return value


_WORDS: Words = {"unit": ("unit", _unit), "format": ("format", _format)}
