"""Partitions that an app fills, and the keys of the jobs that fill them.

An app that is keyed by partition fills one table, partition by partition. Its ``Partitioning`` defines how its jobs are
made, and which partitions they need. A submission requests a range of partitions. Partitions that have neither landed
nor a live job are packed into steps; each step is a job. The tables that the app reads determine which of their
partitions each step needs. Those are requested in turn (see ``planner.keyspaces.partitions.partition_plan``).

Keys look like ``2024-04-01@3f9c21ab`` or ``2024-04-01..2024-04-07@3f9c21ab``. After the ``@`` is the app's version: a
digest of its definition and of all that it reads from. So another version is another job, and submissions with the same
version share the job, on any branch.

A table may have a second dimension (``Dimension``). Then it has a *slice* for each value, and each slice has partitions
of its own. For plans and in the ledger a slice is a table: ``sales[store=graz]``. The keys of its jobs begin with the
value: ``graz/2024-04-01@3f9c21ab``. ``Partitioning.of_slice`` is the partitioning of one slice.
"""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.keys.calendar import BEGINNING_S, Calendar, Span
from sluice.jobs.model.submission import JSON


class Offset(Struct, frozen=True):
    """Distance into the past: a number of the app's own partitions plus a number of seconds."""

    partitions: int = 0
    seconds: int = 0

    def before(self, partition: int, calendar: Calendar) -> int:
        """Return the moment that is this far before the start of the partition."""
        return calendar.start_s(partition - self.partitions) - self.seconds

    def length_s(self, partition: int, calendar: Calendar) -> int:
        """Return the number of seconds from that moment to the start of the partition."""
        return calendar.start_s(partition) - self.before(partition, calendar)


class Reach(Struct, frozen=True):
    """Range of a table's partitions that some output needs. If ``first`` is None, it begins with the earliest
    existing one.
    """

    first: int | None
    last: int


class Dimension(Struct, frozen=True):
    """Second dimension of a table: each value has a slice of the table."""

    name: str
    values: tuple[str, ...]

    def table(self, table: str, value: str) -> str:
        """Return the name of the table's slice for this value."""
        return f"{table}[{self.name}={value}]"

    def tables(self, table: str) -> tuple[str, ...]:
        return tuple(self.table(table, value) for value in self.values)

    def chosen(self, by: Mapping[str, str | Sequence[str]]) -> tuple[str, ...]:
        """Return the values that ``{name: values}`` selects, in the order of the dimension. Raises ValueError for other
        names and values."""
        if [*by] != [self.name]:
            raise ValueError(f"its second dimension is {self.name}, not {', '.join(by) or 'empty'}")
        asked = (of,) if isinstance(of := by[self.name], str) else tuple(of)
        unknown = [value for value in asked if value not in self.values]
        if unknown or not asked:
            named = ", ".join(map(repr, unknown)) or "without a value"
            raise ValueError(f"there is no {self.name} {named}; its values: {', '.join(self.values)}")
        return tuple(value for value in self.values if value in asked)


class TableDependency(Struct, frozen=True, kw_only=True):
    """Table that the app reads, and the part of it that a range of output needs.

    That part reaches from ``start_offset`` before the start of the output to ``end_offset`` before its end. The
    moments ``start_cutoff_s`` and ``end_cutoff_s`` limit it, and so does ``first_s``, the start of the table's first
    possible partition. Without a ``start_offset`` it begins at the first limit, or with the earliest partition. Each
    partition of a ``cumulative`` table contains all of the past, so a single partition is enough if it is not older
    than the last needed one. ``calendar`` belongs to the table. ``producer`` is the app that fills it, or None if an
    external process does. ``version`` is the producer's. ``daily_maker`` is an app that is keyed by template, if its
    jobs make the table's days; then there is no producer. ``by`` is the table's second dimension. A slice of the app
    reads the table's slice of the same value, or with ``all_slices`` each slice.
    """

    table: str
    start_offset: Offset | None = Offset()
    end_offset: Offset = Offset()
    start_cutoff_s: int | None = None
    end_cutoff_s: int | None = None
    first_s: int | None = None
    cumulative: bool = False
    calendar: Calendar = Calendar()
    producer: str | None = None
    daily_maker: str | None = None
    version: str = ""
    by: Dimension | None = None
    all_slices: bool = False

    def of_slice(self, value: str | None) -> "tuple[TableDependency, ...]":
        """Return what the slice with this value reads of the table; None if the app has no second dimension."""
        if self.by is None:
            return (self,)
        values = self.by.values if self.all_slices or value is None else (value,)
        return tuple(
            replace(self, table=self.by.table(self.table, each), by=None, all_slices=False) for each in values
        )

    @property
    def begin_s(self) -> int | None:
        """Moment before which nothing is read, if the definitions set one."""
        return max((each for each in (self.start_cutoff_s, self.first_s) if each is not None), default=None)

    def needed_for(self, output: Span, own: Calendar) -> Reach | None:
        """Return the part of the table that this range of output needs, or None if it needs nothing.

        All calculations use half-open intervals of time, from the start of the first partition to the end of the
        last. So the two tables may have different units. A start before the first possible partition means all
        partitions.
        """
        end_s = self.end_offset.before(output.last + 1, own)
        if self.end_cutoff_s is not None:
            end_s = min(end_s, self.end_cutoff_s)
        starts = [] if self.begin_s is None else [self.begin_s]
        if self.start_offset is not None:
            starts.append(self.start_offset.before(output.first, own))
        start_s = max(starts, default=BEGINNING_S)
        if max(start_s, BEGINNING_S) >= end_s:
            return None
        first = self.calendar.at(start_s) if start_s > BEGINNING_S else None
        return Reach(first, self.calendar.at(end_s - 1))


class Partitioning(Struct, frozen=True, kw_only=True):
    """Table of an app, and how its partitions are packed into jobs.

    ``step_size`` is the largest number of consecutive partitions in one job. ``first`` is the earliest possible
    partition, if the definition sets one. ``modes`` has the options that each mode of the app overrides. ``by`` is the
    second dimension of the table. ``slice`` is the value of the only slice that this partitioning is about
    (``of_slice``).
    """

    table: str
    calendar: Calendar
    step_size: int = 1
    dependencies: tuple[TableDependency, ...] = ()
    first: int | None = None
    modes: Mapping[str, Mapping[str, JSON]] = {}
    by: Dimension | None = None
    slice: str | None = None

    @property
    def has_slices(self) -> bool:
        """True if the table, or a table that the app reads, has a second dimension."""
        return self.by is not None or any(each.by for each in self.dependencies)

    def of_slice(self, value: str | None) -> "Partitioning":
        """Return the partitioning of the slice with this value, None without a second dimension. Its table and the
        tables that it reads are slices."""
        return replace(
            self,
            table=self.by.table(self.table, value) if self.by and value is not None else self.table,
            slice=value,
            dependencies=tuple(part for each in self.dependencies for part in each.of_slice(value)),
        )


def inputs_of(partitioning: Partitioning, output: Span) -> dict[str, tuple[str | None, str | None]]:
    """Return the first and last partition, as texts, that this output needs of each whole table.

    The first is None if all of the past is read. The last is None if any partition from the first on is enough. A
    table that is read in two ways has one entry, which covers both.
    """
    found: dict[str, tuple[str | None, str | None]] = {}
    reaches: dict[str, Reach] = {}
    for dependency in partitioning.dependencies:
        reach = dependency.needed_for(output, partitioning.calendar)
        if reach is None:
            continue
        table, write = without_dimension(dependency.table), dependency.calendar.write
        if dependency.cumulative:
            found.setdefault(table, (write(reach.last), None))
            continue
        known = reaches.get(table, reach)
        firsts = [each.first for each in (known, reach) if each.first is not None]
        whole = Reach(min(firsts) if len(firsts) == 2 else None, max(known.last, reach.last))
        reaches[table] = whole
        found[table] = (None if whole.first is None else write(whole.first), write(whole.last))
    return found


#: Between the value of a second dimension and the partitions of a key. No text of a partition contains it.
AFTER_SLICE = "/"
#: End of the name of a slice (``Dimension.table``).
OF_SLICE = re.compile(r"\[\w+=[^\]]*\]$")
_TO = ".."
_OF_VERSION = "@"
#: Suffix of a key for a partition that external processes make: this partition, or any later one.
OR_LATER = "+"
#: Key, without its version, of a job that never ends.
UNBOUNDED = "running"


def without_dimension(table: str) -> str:
    """Return the name of the whole table, if this is the name of a slice (``Dimension.table``)."""
    return OF_SLICE.sub("", table)


def slice_of(table: str) -> str:
    """Return the part of a slice's name after that of its table, like ``[store=graz]``. Empty for any other table."""
    return table[len(without_dimension(table)) :]


def value_of(table: str) -> tuple[str, str] | None:
    """Return the name and the value of the second dimension that a slice's name has. None for any other table."""
    name, _, value = slice_of(table)[1:-1].partition("=")
    return (name, value) if name else None


def span_text(calendar: Calendar, span: Span) -> str:
    """Return the text of a range. A range of one partition is written as that partition."""
    first = calendar.write(span.first)
    return first if span.first == span.last else f"{first}{_TO}{calendar.write(span.last)}"


def read_span(calendar: Calendar, text: str) -> Span:
    """Return the range with this text. Raises ValueError for any other text, and for a range that ends before it
    begins.
    """
    first, _, last = text.partition(_TO)
    span = Span(calendar.read(first), calendar.read(last or first))
    if span.last < span.first:
        raise ValueError(f"{text!r} ends before it begins")
    return span


def with_version(text: str, version: str) -> str:
    return f"{text}{_OF_VERSION}{version}"


def with_slice(text: str, value: str | None) -> str:
    """Return the text of partitions with the value of their slice before it."""
    return text if value is None else f"{value}{AFTER_SLICE}{text}"


def without_slice(text: str) -> tuple[str | None, str]:
    """Return the value of the slice that a text of partitions begins with, None if there is none, and the rest."""
    value, slash, rest = text.rpartition(AFTER_SLICE)
    return value if slash else None, rest


def without_version(key: str) -> tuple[str, str]:
    """Return the key without its version, and the version, which is empty if the key names none."""
    text, _, version = key.partition(_OF_VERSION)
    return text, version


def ends_of(key: str) -> tuple[str, str] | None:
    """Return the first and the last partition that a job's key names, as text. None for a job that never ends."""
    text, _ = without_version(key)
    _, text = without_slice(text)
    first, _, last = text.removesuffix(OR_LATER).partition(_TO)
    return None if text == UNBOUNDED else (first, last or first)


def landing_key(calendar: Calendar, partition: int, *, or_later: bool) -> str:
    """Return the key of the job that stands for an external partition, or with ``or_later`` for it or any later one."""
    return calendar.write(partition) + (OR_LATER if or_later else "")


def read_landing_key(calendar: Calendar, key: str) -> tuple[int, bool]:
    """Return the partition, and whether any later one is accepted, too. Raises ValueError for any other text."""
    text = key.removesuffix(OR_LATER)
    return calendar.read(text), text != key
