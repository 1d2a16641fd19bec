"""Layout of partitions of several tables side by side. One time axis is cut into columns. Each column has a stretch of
the partitions of each app.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import UNSET, Struct, UnsetType

from sluice.jobs.keys.calendar import UNITS, Calendar, Span, Unit
from sluice.jobs.keys.partitions import slice_of
from sluice.jobs.states import DEAD, State
from sluice.ledger.reads.by_partition.table_partitions import CellCounts, TableVersion
from sluice.ops.documents import Document

#: Numbers of units that a column may have, the smallest first. If all of them give too many columns, the last one is
#: doubled repeatedly.
_SIZES: Mapping[Unit, Sequence[int]] = {
    "hour": (1, 2, 3, 6, 12, 24, 168),
    "day": (1, 7),
    "week": (1, 4, 13, 52),
    "month": (1, 3, 12),
}
#: Partition at which a column of several units begins. For hours and days it is a Monday.
_ORIGINS: Mapping[Unit, int] = {"hour": -3 * 24, "day": -3, "week": 0, "month": 0}


class PartitionRow(Struct, frozen=True):
    """Partitions of an app from the first to the last that is shown. ``place`` is None for an app whose keys have a
    date; its days take the place of partitions. An app of a table with a second dimension has a row for each slice."""

    app: str
    place: TableVersion | None
    calendar: Calendar
    span: Span

    @property
    def label(self) -> str:
        """The app, with its slice."""
        return self.app + slice_of(self.place.table) if self.place else self.app


class Axis(Struct, frozen=True):
    """Columns of a grid. ``starts_s`` has the second at which each column begins, and the end of the last column. A
    column has ``size`` units.
    """

    unit: Unit
    size: int
    starts_s: Sequence[int]

    @property
    def in_words(self) -> str:
        """Length of a column as text, like ``one day``."""
        is_days = self.unit == "hour" and self.size % 24 == 0
        size, unit = (self.size // 24, "day") if is_days else (self.size, self.unit)
        return f"one {unit}" if size == 1 else f"{size} {unit}s"


class Strip(Struct, frozen=True):
    """Columns that a row covers. ``before`` is the number of columns before it. ``stretches`` has the row's partitions
    in each column after those.
    """

    row: PartitionRow
    before: int
    stretches: Sequence[Span]


def axis(rows: Iterable[PartitionRow], columns_max: int) -> Axis:
    """Return the columns for these rows. A column is one partition of the app with the longest unit, or several
    partitions if there would be more than ``columns_max`` columns.
    """
    calendars = [row.calendar for row in rows]
    unit = max((each.unit for each in calendars), key=UNITS.index)
    calendar = Calendar(unit)
    first = calendar.at(min(row.calendar.start_s(row.span.first) for row in rows))
    last = calendar.at(max(row.calendar.start_s(row.span.last + 1) for row in rows) - 1)
    size = next(size for size in _sizes(unit) if _columns(unit, size, first, last) <= columns_max)
    begin = _begin(unit, size, first)
    columns = _columns(unit, size, first, last)
    return Axis(unit, size, [calendar.start_s(begin + column * size) for column in range(columns + 1)])


def strip(row: PartitionRow, axis: Axis) -> Strip:
    """Return the row's partitions in each column. A partition that ends in another column than it begins in, such as a
    week in two months, is in the first of them only, unless it is longer than a column.
    """
    stretches: list[Span] = []
    before = 0
    for start_s, end_s in pairwise(axis.starts_s):
        first, last = row.calendar.at(start_s), row.calendar.at(end_s - 1)
        if last < row.span.first:
            before += 1
        elif first <= row.span.last:
            if stretches and first == stretches[-1].last < last:
                first += 1
            stretches.append(Span(max(first, row.span.first), min(last, row.span.last)))
    return Strip(row, before, stretches)


def total(cells: Iterable[CellCounts]) -> dict[State, int]:
    counts: dict[State, int] = {}
    for cell in cells:
        for state, count in cell.states.items():
            counts[state] = counts.get(state, 0) + count
    return counts


class CellDocument(Document, frozen=True, kw_only=True, rename={"first": "from", "last": "to"}):
    """Partitions of one column, by state. ``stale`` of those that exist are stale."""

    first: str
    last: str
    counts: Mapping[State, int]
    stale: int


class StripDocument(Document, frozen=True, kw_only=True):
    """Partitions of one app (docs: the JSON of ``sluice grid``). ``table`` names its slice, if it has several."""

    app: str
    table: str | UnsetType = UNSET
    unit: Unit
    first: str
    last: str
    counts: Mapping[State, int]
    cells: Sequence[CellDocument]


def as_document(strip: Strip, cells: Sequence[CellCounts]) -> StripDocument:
    row, write = strip.row, strip.row.calendar.write
    return StripDocument(
        app=row.app,
        table=row.place.table if row.place and slice_of(row.place.table) else UNSET,
        unit=row.calendar.unit,
        first=write(row.span.first),
        last=write(row.span.last),
        counts=total(cells),
        cells=[
            CellDocument(
                first=write(stretch.first), last=write(stretch.last), counts=counts.states, stale=counts.stale
            )
            for stretch, counts in zip(strip.stretches, cells, strict=True)
        ],
    )


class CellMark(Struct, frozen=True):
    """Appearance of a cell: its character, the state that determines its colour, and its meaning."""

    sign: str
    state: State | None
    meaning: str


#: States of jobs that did not succeed for a reason outside the job.
_FOR_OTHERS = {State.CANCELLED, State.UPSTREAM_FAILED, State.SKIPPED}
#: Marks by state, the most urgent first. A cell with several states gets the first matching mark.
MARKS = (
    *(
        (state, CellMark("!", State.FAILED, "did not succeed"))
        for state in State
        if state in DEAD - _FOR_OTHERS
    ),
    (State.UPSTREAM_FAILED, CellMark("^", State.UPSTREAM_FAILED, "upstream failed")),
    *(
        (state, CellMark(">", State.RUNNING, "is being made"))
        for state in (State.RUNNING, State.EXECUTED, State.SUSPENDED)
    ),
    (State.READY, CellMark("+", State.READY, "may be made")),
    *((state, CellMark(".", State.WAITING, "waits")) for state in (State.WAITING, State.EXPECTED)),
    (State.CANCELLED, CellMark("x", State.CANCELLED, "was cancelled")),
)
STALE = CellMark("~", State.WAITING, "is stale")
THERE = CellMark("#", State.SUCCEEDED, "exists")
PARTLY = CellMark("=", State.SUCCEEDED, "exists in part")
NOT_NEEDED = CellMark("s", State.SKIPPED, "was skipped")
NOTHING = CellMark("-", None, "not requested")


def mark(stretch: Span, cell: CellCounts) -> CellMark:
    """Return the mark of the most urgent state in the cell. It is stale if one of its partitions is."""
    counts = cell.states
    if not counts:
        return NOTHING
    for state, mark in MARKS:
        if state in counts:
            return mark
    if cell.stale:
        return STALE
    if State.SUCCEEDED not in counts:
        return NOT_NEEDED
    return THERE if sum(counts.values()) == len(stretch) else PARTLY


#: States in the order in which they need attention.
_BY_URGENCY = (*(state for state, _ in MARKS), State.SUCCEEDED, State.SKIPPED)


def most_urgent(states: Collection[State]) -> State:
    """Return the state that needs most attention."""
    return next(state for state in _BY_URGENCY if state in states)


def _sizes(unit: Unit) -> Iterator[int]:
    size = 1
    for size in _SIZES[unit]:
        yield size
    while True:
        size *= 2
        yield size


def _begin(unit: Unit, size: int, first: int) -> int:
    return first - (first - _ORIGINS[unit]) % size


def _columns(unit: Unit, size: int, first: int, last: int) -> int:
    return (last - _begin(unit, size, first)) // size + 1
