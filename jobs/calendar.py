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
        return _moment(self.start_s(partition)).strftime(self.format or FORMATS[self.unit])

    def read(self, text: str) -> int:
        """The partition that is written so, in this calendar's format or its unit's own; ValueError for other texts."""
        for pattern in filter(None, (self.format, FORMATS[self.unit])):
            try:
                moment = datetime.strptime(text, pattern).replace(tzinfo=UTC)
            except ValueError:
                continue
            return self.at(int((moment - _EPOCH).total_seconds()))
        raise ValueError(f"{text!r} is no {self.unit}; write it like {self.example}")

    def start_s(self, partition: int) -> int:
        """The moment at which it begins, which is where the one before it ends."""
        if self.unit == "hour":
            return partition * _HOUR_S
        if self.unit == "day":
            return partition * _DAY_S
        year, month = divmod(partition, 12)
        return (date(1970 + year, month + 1, 1).toordinal() - _EPOCH.toordinal()) * _DAY_S

    def at(self, moment_s: int) -> int:
        """The partition that holds this moment."""
        if self.unit == "hour":
            return moment_s // _HOUR_S
        if self.unit == "day":
            return moment_s // _DAY_S
        day = date.fromordinal(_EPOCH.toordinal() + moment_s // _DAY_S)
        return (day.year - 1970) * 12 + day.month - 1

    @property
    def example(self) -> str:
        return self.write(
            self.at(int((datetime(2024, 4, 1, 13, tzinfo=UTC) - _EPOCH).total_seconds()))
        )


def _moment(seconds: int) -> datetime:
    return _EPOCH + timedelta(seconds=seconds)
