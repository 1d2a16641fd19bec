"""Tables of drawn apps, and the partitions that each partition is made from, by the drawn definitions alone.

The checks use this relation, and not the one of the planner. A slice of a table with a second dimension is a table.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.keys.calendar import Calendar, Span

DAYS = Calendar("day")


class Partition(NamedTuple):
    table: str
    version: str
    number: int

    def __str__(self) -> str:
        return f"{self.table} {DAYS.write(self.number)}"


class Reading(NamedTuple):
    """Part of a table that an app reads: the day of its output, and as many days before it as ``back``. It is None if
    the table is read from its beginning. Of a ``cumulative`` table, any later partition is accepted."""

    table: str
    back: int | None
    cumulative: bool

    @property
    def is_exact(self) -> bool:
        """Return whether the read partitions depend on the output alone."""
        return self.back is not None and not self.cumulative

    def numbers(self, output: Span) -> range:
        return range(output.first - (self.back or 0), output.last + 1)


class FilledTable(NamedTuple):
    """Table of an app, or the slice of it with the value ``of``. Jobs with keys make the table if it ``is_daily``."""

    app: str
    table: str
    of: str | None
    is_daily: bool
    version: str
    readings: tuple[Reading, ...]


class Tables:
    """All tables that the drawn apps fill."""

    def __init__(self, catalogue: Catalogue, apps: Mapping[str, Any]) -> None:
        self._apps = apps
        self._dimensions = dict(_dimensions(apps))
        filled = [each for name in apps for each in self._filled_by(name, catalogue)]
        self._by_slice = {(each.app, each.of): each for each in filled}
        self._by_table = {each.table: each for each in filled}

    def __iter__(self) -> Iterator[FilledTable]:
        return iter(self._by_table.values())

    def get(self, table: str) -> FilledTable | None:
        """Return the table of this name. None if no app fills it."""
        return self._by_table.get(table)

    def of(self, app: str, value: str | None = None) -> FilledTable | None:
        """Return the table that the app fills, or its slice with this value. None if there is none."""
        return self._by_slice.get((app, value))

    def filled_by(self, app: str, values: Sequence[str] | None = None) -> list[FilledTable]:
        """Return the table that the app fills, or its slices with these values. Default: all slices."""
        return [each for each in self if each.app == app and (values is None or each.of in values)]

    def partition(self, table: str, number: int) -> Partition:
        filled = self.get(table)
        return Partition(table, filled.version if filled else DAYS.unit, number)

    def inputs(self, made: Partition) -> Iterator[tuple[Reading, Partition]]:
        """Yield the partitions that this one is made from, each with the reading. None for an external table."""
        filled = self.get(made.table)
        for reading in filled.readings if filled and filled.version == made.version else ():
            for number in reading.numbers(Span(made.number, made.number)):
                yield reading, self.partition(reading.table, number)

    def _filled_by(self, name: str, catalogue: Catalogue) -> Iterator[FilledTable]:
        words = self._apps[name]
        is_daily = "partition" not in words
        if is_daily and not words.keys() & {"output_table", "table_dependencies"}:
            return
        table, version = table_of(name, words), catalogue[name].table_version
        own, values = dimension(words) or ("", [None])
        for value in values:
            readings = (
                Reading(read, each.get("start_offset", 0), each.get("cumulative", False))
                for each in words.get("table_dependencies", ())
                for read in self._read(each, own, value)
            )
            yield FilledTable(
                name, sliced(table, own, value), value, is_daily, version, tuple(dict.fromkeys(readings))
            )

    def _read(self, reading: Mapping[str, Any], own: str, value: str | None) -> list[str]:
        """Return the tables that a slice of an app reads because of one dependency."""
        table = reading["table"]
        if table not in self._dimensions:
            return [table]
        name, values = self._dimensions[table]
        is_own = name == own and reading.get("by") != "all"
        return [sliced(table, name, each) for each in ([value] if is_own else values)]


def dimension(words: Mapping[str, Any]) -> tuple[str, list[Any]] | None:
    """Return the name and the values of the second dimension in an app's, or a reading's, ``partition``."""
    partition = words.get("partition")
    if not isinstance(partition, Mapping) or "by" not in partition:
        return None
    ((name, values),) = partition["by"].items()
    return name, values


def table_of(name: str, words: Mapping[str, Any]) -> str:
    return str(words.get("output_table", name))


def sliced(table: str, name: str, value: str | None) -> str:
    """Return the name of a slice; without a value, that of the table."""
    return table if value is None else f"{table}[{name}={value}]"


def slices_of(apps: Mapping[str, Any], table: str) -> list[str]:
    """Return the slices of a table. Without a second dimension, it is the table itself."""
    name, values = dict(_dimensions(apps)).get(table, ("", [None]))
    return [sliced(table, name, value) for value in values]


def keys_of(words: Mapping[str, Any], day: int) -> list[str]:
    """Return the keys of the jobs of a day."""
    values = words.get("autofill_values", {}).values()
    return ["_".join((DAYS.write(day).replace("-", ""), *each)) for each in product(*values)]


def day_of(key: str) -> int:
    return DAYS.read(f"{key[:4]}-{key[4:6]}-{key[6:8]}")


def _dimensions(apps: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, list[Any]]]]:
    for name, words in apps.items():
        if found := dimension(words):
            yield table_of(name, words), found
        for reading in words.get("table_dependencies", ()):
            if found := dimension(reading):
                yield reading["table"], found
