"""Grid of tables by time, with a row for each table, a character for each cell, and one axis for all tables.

An app whose keys have exactly one date has a row of days.

A column is one partition of the most common unit, or several partitions if there would be too many columns. A longer
partition of another table spans several columns. Several shorter partitions share one column.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

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
from sluice.ledger.reads.by_partition.submission_grid import newest_by_day
from sluice.ledger.reads.by_partition.table_partitions import CellCounts, TableVersion
from sluice.ops.documents.dated_apps import DAILY, Days, cells_of, dated_keys, urgent_days
from sluice.ops.documents.grid import (
    MARKS,
    NOT_NEEDED,
    NOTHING,
    PARTLY,
    STALE,
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
#: Maximum number of jobs that are read for the days of all apps, in each state; and the least for one app.
DATED_JOBS_MAX, DATED_JOBS_MIN = 50_000, 200
#: State or meaning of each character.
LEGEND: Mapping[str, str] = {
    THERE.sign: str(THERE.state),
    **{mark.sign: str(mark.state) for _, mark in MARKS},
    PARTLY.sign: "succeeded in part",
    STALE.sign: "stale",
    NOT_NEEDED.sign: str(NOT_NEEDED.state),
    NOTHING.sign: NOTHING.meaning,
}


class BadWindow(BadRequest):
    """Raised when the given range is not a range of partitions."""


class GridRow(Struct, frozen=True):
    """Row of the grid, with a character for each column in ``cells``. ``app`` fills the table. It is None if no app of
    these definitions does. In a row of days, ``table`` is the app, and ``day`` the identifier of its date.
    """

    app: str | None
    table: str
    unit: Unit
    cells: str
    day: str | None = None


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


def grid(
    tx: Tx,
    catalogue: Catalogue,
    first: str | None,
    last: str | None,
    *,
    has_table: Callable[[str], bool] = lambda _: True,
    has_app: Callable[[str], bool] = lambda _: True,
) -> Grid:
    """Return the grid for a range of partitions. Default: the latest partitions. ``has_table`` returns whether a table
    is shown, and ``has_app`` whether the days of an app are. BadWindow if a text is not a partition.
    """
    shown = [table for table in tables_of(catalogue) if has_table(table.name)]
    return _grid(tx, catalogue, shown, _days(tx, catalogue, has_app), (first, last))


def _grid(
    tx: Tx,
    catalogue: Catalogue,
    tables: Sequence[TableOf],
    days: Mapping[str, Days],
    ends: tuple[str | None, str | None],
) -> Grid:
    unit = _unit(tables) or ("day" if days else None)
    window = _window(unit, *ends, lambda: _ends_s(tx, tables, days)) if unit else None
    if unit is None or window is None:
        return Grid(columns=[], unit=unit, size=1, rows=[], legend=LEGEND, jobs={})
    calendar = Calendar(unit)
    columns_max = max(min(COLUMNS_MAX, CELLS_MAX // (len(tables) + len(days))), 10)
    along = axis([_row("", None, calendar, window)], columns_max)
    strips = [*_strips([_of_table(table, window) for table in tables], along)]
    bands = [_band(table, each) for table, each in zip(tables, strips, strict=True)]
    counted = partition_grid.cells(tx, bands)
    dated = [*_dated(catalogue, days, window, along)]
    return Grid(
        columns=[calendar.write(calendar.at(start_s)) for start_s in along.starts_s[:-1]],
        unit=unit,
        size=along.size,
        rows=[
            _line(table, each, band, cells, along)
            for table, each, band, cells in zip(tables, strips, bands, counted, strict=True)
        ]
        + dated,
        legend=LEGEND,
        jobs=total(cell for cells in counted for cell in cells),
    )


def _unit(tables: Iterable[TableOf]) -> Unit | None:
    """Return the most common unit. Of equally common units, return the shortest."""
    counts = Counter(table.calendar.unit for table in tables)
    return max(counts, key=lambda unit: (counts[unit], -UNITS.index(unit)), default=None)


def _days(tx: Tx, catalogue: Catalogue, is_shown: Callable[[str], bool]) -> dict[str, Days]:
    """Return the days of each shown app that has jobs with a date, parents first."""
    dated = [each for each in dated_keys(catalogue) if is_shown(each.app)]
    limit = max(DATED_JOBS_MAX // len(dated), DATED_JOBS_MIN) if dated else 0
    found = newest_by_day(tx, dated, limit=limit)
    return {each.app: days for each in dated if (days := urgent_days(found.get(each.app, {})))}


def _window(
    unit: Unit, first: str | None, last: str | None, ends_s: Callable[[], Sequence[int]]
) -> tuple[int, int] | None:
    """Return the start of the range and its exclusive end in seconds. ``ends_s`` returns the ends of all rows. None if
    there are none and the caller gives no range.
    """
    calendar = Calendar(unit)
    start_s = None if first is None else _start_s(first)[0]
    end_s = None if last is None else _start_s(last)[1]
    if end_s is None:
        ends = ends_s()
        if not ends and start_s is None:
            return None
        end_s = max([*ends, *([start_s + 1] if start_s is not None else [])])
    if start_s is None:
        start_s = calendar.start_s(calendar.at(end_s - 1) - COLUMNS + 1)
    if start_s >= end_s:
        raise BadWindow(f"{first} is not before {last}.", advice="Give the first partition, then the last.")
    return start_s, end_s


def _ends_s(tx: Tx, tables: Sequence[TableOf], days: Mapping[str, Days]) -> Sequence[int]:
    found = partition_grid.lasts(tx, [TableVersion(table.name, table.version) for table in tables])
    return [
        *(table.calendar.start_s(found[table.name] + 1) for table in tables if table.name in found),
        *(DAILY.start_s(max(each) + 1) for each in days.values()),
    ]


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


def _of_table(table: TableOf, window: tuple[int, int]) -> PartitionRow:
    return _row(table.name, TableVersion(table.name, table.version), table.calendar, window)


def _row(name: str, place: TableVersion | None, calendar: Calendar, window: tuple[int, int]) -> PartitionRow:
    start_s, end_s = window
    return PartitionRow(name, place, calendar, Span(calendar.at(start_s), calendar.at(end_s - 1)))


def _dated(
    catalogue: Catalogue, days: Mapping[str, Days], window: tuple[int, int], along: Axis
) -> Iterator[GridRow]:
    """Yield the rows of apps with jobs on days of the window."""
    for app, of in days.items():
        (each,) = _strips([_row(app, None, DAILY, window)], along)
        cells = cells_of(each, of)
        if any(cell.states for cell in cells):
            (day,) = catalogue[app].days
            yield GridRow(app, app, "day", _signs(each, cells, along), day)


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


def _line(table: TableOf, strip: Strip, band: Band, cells: Sequence[CellCounts], along: Axis) -> GridRow:
    of = dict(zip(band.begins, cells, strict=True))
    shown = _signs(strip, [of[stretch.first] for stretch in strip.stretches], along)
    return GridRow(table.app.name if table.app else None, table.name, table.calendar.unit, shown)


def _signs(strip: Strip, cells: Sequence[CellCounts], along: Axis) -> str:
    signs = "".join(mark(*each).sign for each in zip(strip.stretches, cells, strict=True))
    return (NOTHING.sign * strip.before + signs).ljust(len(along.starts_s) - 1, NOTHING.sign)
