"""How the partitions of a table are counted and written: one for each hour, day or month, in UTC.

A partition is a whole number wherever it is reckoned with, counted from 1970 on, and a text wherever people or
users' code see it. Moments are seconds since 1970. So neither time zones nor the machine's clock have a say.
"""

from datetime import UTC, date, datetime, timedelta
from typing import Literal, NamedTuple, get_args

from msgspec import Struct

Unit = Literal["hour", "day", "month"]
UNITS: tuple[Unit, ...] = get_args(Unit)

#: How each unit is written where the definition does not say otherwise, as for strftime.
FORMATS: dict[Unit, str] = {"hour": "%Y-%m-%d-%H", "day": "%Y-%m-%d", "month": "%Y-%m"}

_HOUR_S = 3600
_DAY_S = 24 * _HOUR_S
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = _EPOCH.toordinal()
#: After so many months, or days, months begin on the same days again.
_CYCLE_MONTHS = 400 * 12
_CYCLE_DAYS = 146_097

#: Where the first partition of any table may begin: the years before have fewer than four digits.
BEGINNING_S = (date(1000, 1, 1).toordinal() - _EPOCH_DAY) * _DAY_S


class Span(NamedTuple):
    """Partitions in a row, both ends included."""

    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first + 1


class Calendar(Struct, frozen=True):
    """``format`` is empty where the unit's own is meant."""

    unit: Unit = "day"
    format: str = ""

    def write(self, partition: int) -> str:
        """The canonical text of a partition."""
        return _write(self.start_s(partition), self.pattern)

    def read(self, text: str) -> int:
        """The partition whose text this is, in the calendar's format or its unit's own; ValueError for other texts,
        also for one that strptime would take: of ``202411`` it makes the first of January."""
        for pattern in dict.fromkeys((self.pattern, FORMATS[self.unit])):
            try:
                moment = datetime.strptime(text, pattern).replace(tzinfo=UTC)
            except ValueError:
                continue
            partition = self.at(int((moment - _EPOCH).total_seconds()))
            if _write(self.start_s(partition), pattern) == text:
                return partition
        raise ValueError(f"{text!r} is no {self.unit}; write it like {self.example}")

    def start_s(self, partition: int) -> int:
        """The moment at which it begins, which is where the one before it ends."""
        if self.unit == "hour":
            return partition * _HOUR_S
        if self.unit == "day":
            return partition * _DAY_S
        cycles, month = divmod(partition, _CYCLE_MONTHS)
        day = date(1970 + month // 12, month % 12 + 1, 1).toordinal() - _EPOCH_DAY
        return (cycles * _CYCLE_DAYS + day) * _DAY_S

    def at(self, moment_s: int) -> int:
        """The partition that holds this moment."""
        if self.unit == "hour":
            return moment_s // _HOUR_S
        if self.unit == "day":
            return moment_s // _DAY_S
        cycles, number = divmod(moment_s // _DAY_S, _CYCLE_DAYS)
        day = date.fromordinal(_EPOCH_DAY + number)
        return cycles * _CYCLE_MONTHS + (day.year - 1970) * 12 + day.month - 1

    @property
    def pattern(self) -> str:
        """How its partitions are written, as for strftime."""
        return self.format or FORMATS[self.unit]

    @property
    def example(self) -> str:
        return self.write(self.at(int((datetime(2024, 4, 1, 13, tzinfo=UTC) - _EPOCH).total_seconds())))


def _write(moment_s: int, pattern: str) -> str:
    return (_EPOCH + timedelta(seconds=moment_s)).strftime(pattern)
