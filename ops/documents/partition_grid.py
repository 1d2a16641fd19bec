"""Grid of tables by time, with a row for each table, a character for each cell, and one axis for all tables.

A column is one partition of the most common unit, or several partitions if there would be too many columns. A longer
partition of another table spans several columns. Several shorter partitions share one column.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.resolve.tables import TableOf, tables_of
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.calendar import UNITS, Calendar, Span, Unit
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.reads.by_partition import partition_grid
from sluice.ledger.reads.by_partition.partition_grid import Band
from sluice.ledger.reads.by_partition.table_partitions import TableVersion
from sluice.ops.documents.grid import (
    MARKS,
    NOT_NEEDED,
    NOTHING,
    PARTLY,
    THERE,
    Axis,
    PartitionRow,
    Strip,
    axis,
    mark,
    strip,
    total,
)

#: Default number of columns if the caller gives no range, maximum number of columns, and maximum number of cells.
COLUMNS, COLUMNS_MAX, CELLS_MAX = 100, 1000, 20_000
#: State or meaning of each character.
LEGEND: Mapping[str, str] = {
    THERE.sign: str(THERE.state),
    **{mark.sign: str(mark.state) for _, mark in MARKS},
    PARTLY.sign: "succeeded in part",
    NOT_NEEDED.sign: str(NOT_NEEDED.state),
    NOTHING.sign: NOTHING.meaning,
}


class BadWindow(BadRequest):
    """Raised when the given range is not a range of partitions."""


class GridRow(Struct, frozen=True):
    """Row of the grid, with a character for each column in ``cells``. ``app`` fills the table. It is None if no app of
    these definitions does.
    """

    app: str | None
    table: str
    unit: Unit
    cells: str


class Grid(Struct, frozen=True, kw_only=True):
    """Grid for the console. ``columns`` has the first partition of each column, and ``size`` is the number of units in
    a column. ``jobs`` counts the shown partitions by state.
    """

    columns: Sequence[str]
    unit: Unit | None
    size: int
    rows: Sequence[GridRow]
    legend: Mapping[str, str]
    jobs: Mapping[State, int]


def grid(tx: Tx, catalogue: Catalogue, first: str | None, last: str | None) -> Grid:
    """Return the grid for a range of partitions. Default: the latest partitions. BadWindow if a text is not a
    partition.
    """
    tables = [*tables_of(catalogue)]
    unit = _unit(tables)
    window = _window(tx, tables, unit, first, last) if unit else None
    if unit is None or window is None:
        return Grid(columns=[], unit=unit, size=1, rows=[], legend=LEGEND, jobs={})
    calendar = Calendar(unit)
    columns_max = max(min(COLUMNS_MAX, CELLS_MAX // len(tables)), 10)
    along = axis([_row(_any_of(tables, unit), window)], columns_max)
    strips = [*_strips([_row(table, window) for table in tables], along)]
    bands = [_band(table, each) for table, each in zip(tables, strips, strict=True)]
    counted = partition_grid.cells(tx, bands)
    return Grid(
        columns=[calendar.write(calendar.at(start_s)) for start_s in along.starts_s[:-1]],
        unit=unit,
        size=along.size,
        rows=[
            _line(table, each, band, cells, along)
            for table, each, band, cells in zip(tables, strips, bands, counted, strict=True)
        ],
        legend=LEGEND,
        jobs=total(cell for cells in counted for cell in cells),
    )


def _unit(tables: Iterable[TableOf]) -> Unit | None:
    """Return the most common unit. Of equally common units, return the shortest."""
    counts = Counter(table.calendar.unit for table in tables)
    return max(counts, key=lambda unit: (counts[unit], -UNITS.index(unit)), default=None)


def _any_of(tables: Iterable[TableOf], unit: Unit) -> TableOf:
    return next(table for table in tables if table.calendar.unit == unit)


def _window(
    tx: Tx, tables: Sequence[TableOf], unit: Unit, first: str | None, last: str | None
) -> tuple[int, int] | None:
    """Return the start of the range and its exclusive end in seconds. None if no partition is known and the caller
    gives no range.
    """
    calendar = Calendar(unit)
    start_s = None if first is None else _start_s(first)[0]
    end_s = None if last is None else _start_s(last)[1]
    if end_s is None:
        found = partition_grid.lasts(tx, [TableVersion(table.name, table.version) for table in tables])
        ends = [table.calendar.start_s(found[table.name] + 1) for table in tables if table.name in found]
        if not ends and start_s is None:
            return None
        end_s = max([*ends, *([start_s + 1] if start_s is not None else [])])
    if start_s is None:
        start_s = calendar.start_s(calendar.at(end_s - 1) - COLUMNS + 1)
    if start_s >= end_s:
        raise BadWindow(f"{first} is not before {last}.", advice="Give the first partition, then the last.")
    return start_s, end_s


def _start_s(text: str) -> tuple[int, int]:
    """Return the start and the end of a partition in seconds, whatever its unit."""
    for unit in UNITS:
        calendar = Calendar(unit)
        try:
            partition = calendar.read(text)
        except ValueError:
            continue
        return calendar.start_s(partition), calendar.start_s(partition + 1)
    examples = [Calendar(unit).example for unit in UNITS]
    raise BadWindow(
        f"{text!r} is not a partition.",
        advice=f"Write it like {', '.join(examples[:-1])} or {examples[-1]}.",
    )


def _row(table: TableOf, window: tuple[int, int]) -> PartitionRow:
    start_s, end_s = window
    span = Span(table.calendar.at(start_s), table.calendar.at(end_s - 1))
    return PartitionRow(table.name, TableVersion(table.name, table.version), table.calendar, span)


def _strips(rows: Iterable[PartitionRow], along: Axis) -> Iterator[Strip]:
    """Yield the strip of each row. Tables with the same calendar have the same columns, so these are computed once."""
    known: dict[Calendar, Strip] = {}
    for row in rows:
        if row.calendar not in known:
            known[row.calendar] = strip(row, along)
        yield replace(known[row.calendar], row=row)


def _band(table: TableOf, strip: Strip) -> Band:
    """Return the stretches to count. A partition that spans several columns is counted once."""
    begins = [*dict.fromkeys(stretch.first for stretch in strip.stretches)]
    return Band(place=TableVersion(table.name, table.version), span=strip.row.span, begins=begins)


def _line(
    table: TableOf, strip: Strip, band: Band, cells: Sequence[Mapping[State, int]], along: Axis
) -> GridRow:
    of = dict(zip(band.begins, cells, strict=True))
    signs = "".join(mark(stretch, of[stretch.first]).sign for stretch in strip.stretches)
    columns = len(along.starts_s) - 1
    shown = (NOTHING.sign * strip.before + signs).ljust(columns, NOTHING.sign)
    return GridRow(table.app.name if table.app else None, table.name, table.calendar.unit, shown)
