"""Numbering and text form of a table's partitions: one per hour, day, ISO week or month, in UTC.

A partition is a whole number in all calculations, counted from 1970, and a text for people and users' code. Moments
are seconds since 1970. So neither time zones nor the machine's clock have an influence.
"""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Literal, NamedTuple, get_args

from msgspec import Struct

Unit = Literal["hour", "day", "week", "month"]
#: All units, the shortest first.
UNITS: tuple[Unit, ...] = get_args(Unit)

#: Default text format of each unit, as for strftime.
FORMATS: dict[Unit, str] = {"hour": "%Y-%m-%d-%H", "day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m"}

_HOUR_S = 3600
_DAY_S = 24 * _HOUR_S
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = _EPOCH.toordinal()
#: Number of the day on which week 0 begins: the Monday before 1970, which was a Thursday.
_WEEK_0 = -3
#: Parts of a format that name a day of the week.
_WEEKDAY = re.compile("%[aAuw]")
#: Length of the Gregorian cycle, in months and in days. After it, months begin on the same days again.
_CYCLE_MONTHS = 400 * 12
_CYCLE_DAYS = 146_097

#: Earliest start of any partition, in seconds since 1970. Years before 1000 have fewer than four digits.
BEGINNING_S = (date(1000, 1, 1).toordinal() - _EPOCH_DAY) * _DAY_S


class Span(NamedTuple):
    """Range of partitions, both ends included."""

    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first + 1


class Calendar(Struct, frozen=True):
    """Unit and text format of a table's partitions. An empty ``format`` selects the unit's default format."""

    unit: Unit = "day"
    format: str = ""

    def write(self, partition: int) -> str:
        """Return the canonical text of a partition."""
        return _write(self.start_s(partition), self.pattern)

    def read(self, text: str) -> int:
        """Return the partition with this text, in the calendar's format or the unit's default format.

        Raises ValueError for any other text. That includes texts that strptime would accept: it reads ``202411`` as
        the first of January.
        """
        for pattern in dict.fromkeys((self.pattern, FORMATS[self.unit])):
            try:
                moment = self._parsed(text, pattern)
            except ValueError:
                continue
            partition = self.at(int((moment - _EPOCH).total_seconds()))
            if _write(self.start_s(partition), pattern) == text:
                return partition
        raise ValueError(f"{text!r} is no {self.unit}; write it like {self.example}")

    def start_s(self, partition: int) -> int:
        """Return the moment at which the partition begins, which is also the end of the one before."""
        if self.unit == "hour":
            return partition * _HOUR_S
        if self.unit == "day":
            return partition * _DAY_S
        if self.unit == "week":
            return (partition * 7 + _WEEK_0) * _DAY_S
        cycles, month = divmod(partition, _CYCLE_MONTHS)
        day = date(1970 + month // 12, month % 12 + 1, 1).toordinal() - _EPOCH_DAY
        return (cycles * _CYCLE_DAYS + day) * _DAY_S

    def at(self, moment_s: int) -> int:
        """Return the partition that contains this moment."""
        if self.unit == "hour":
            return moment_s // _HOUR_S
        if self.unit == "day":
            return moment_s // _DAY_S
        if self.unit == "week":
            return (moment_s // _DAY_S - _WEEK_0) // 7
        cycles, number = divmod(moment_s // _DAY_S, _CYCLE_DAYS)
        day = date.fromordinal(_EPOCH_DAY + number)
        return cycles * _CYCLE_MONTHS + (day.year - 1970) * 12 + day.month - 1

    @property
    def pattern(self) -> str:
        """Text format of the partitions, as for strftime."""
        return self.format or FORMATS[self.unit]

    @property
    def example(self) -> str:
        return self.write(self.at(int((datetime(2024, 4, 1, 13, tzinfo=UTC) - _EPOCH).total_seconds())))

    def _parsed(self, text: str, pattern: str) -> datetime:
        """Return a moment of the partition with this text. A week's number alone is no date for strptime, so its
        Monday is added.
        """
        if self.unit == "week" and not _WEEKDAY.search(pattern):
            text, pattern = f"{text} 1", f"{pattern} %u"
        return datetime.strptime(text, pattern).replace(tzinfo=UTC)


def _write(moment_s: int, pattern: str) -> str:
    return (_EPOCH + timedelta(seconds=moment_s)).strftime(pattern)
