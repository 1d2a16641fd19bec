"""Relation between partitions by the definitions alone, independent of existing partitions.

It relates partitions and not jobs, because a step is cut only when it is planned. ``parents`` and ``children`` are two
readings of ``TableDependency.needed_for`` and are inverse to each other.
"""

from bisect import bisect_left
from collections.abc import Iterator

from msgspec import Struct

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.resolve.tables import TableOf, table_of
from sluice.jobs.keys.calendar import BEGINNING_S, Calendar, Span
from sluice.jobs.keys.partitions import (
    OR_LATER,
    UNBOUNDED,
    Offset,
    Partitioning,
    TableDependency,
    with_slice,
)
from sluice.jobs.model.app import App
from sluice.jobs.model.dependency import When
from sluice.jobs.model.names import JobName
from sluice.planner.keyspaces.partitions.daily_jobs import DailyJobs, day_of
from sluice.planner.keyspaces.partitions.partition_keys import filling_of

#: Seconds since 1970 at the start of the year 9999. No partition is later.
_END_S = 253_370_764_800


class Relatives(Struct, frozen=True, kw_only=True):
    """Partitions of one table, or the one job of a long-running service (``span`` is None).

    ``app`` makes them; it is None for an external table, and for a table of which ``daily_jobs`` make the days.
    ``or_later``: any later partition serves instead of the only one in ``span``. ``endless``: all earlier partitions
    belong to it too; of children, all later ones.
    """

    table: str
    app: App | None
    calendar: Calendar
    span: Span | None
    when: When = "succeeded"
    or_later: bool = False
    endless: bool = False
    daily_jobs: DailyJobs | None = None

    @property
    def maker(self) -> str:
        """Name of the app that makes them; for an external table, that of the table."""
        maker = self.daily_jobs.app if self.daily_jobs else self.app
        return maker.name if maker else self.table

    @property
    def version(self) -> str:
        """Version under which the ledger has them."""
        return self.app.version if self.app else self.calendar.unit

    @property
    def names(self) -> Iterator[JobName]:
        """Job names of the partitions, each as if it were a step of its own; or the jobs with keys that make them."""
        if self.span is None:
            yield JobName(self.maker, UNBOUNDED)
            return
        for each in range(self.span.first, self.span.last + 1):
            if self.daily_jobs:
                yield from self.daily_jobs.on(each)
            else:
                text = self.calendar.write(each) + (OR_LATER if self.or_later else "")
                yield JobName(self.maker, with_slice(text, self._slice))

    @property
    def _slice(self) -> str | None:
        return self.app.partitioning.slice if self.app and self.app.partitioning else None


def parents(catalogue: Catalogue, app: App, output: Span) -> Iterator[Relatives]:
    """Yield the partitions that ``output`` is made from, in the order of the definition. An app with slices is the app
    for a single slice (``App.of_slice``)."""
    own = filling_of(app)
    for each in own.dependencies:
        producer = catalogue.fills(each.table)
        if producer and producer.unbounded:
            yield _of(each, producer, None, when="running")
            continue
        daily_maker = catalogue.makes_days_of(each.table)
        daily_jobs = DailyJobs(catalogue, daily_maker) if daily_maker else None
        reach = each.needed_for(output, own.calendar)
        if reach is None:
            continue
        if each.cumulative:
            yield _of(each, producer or daily_jobs, Span(reach.last, reach.last), or_later=True)
            continue
        start = each.calendar.at(own.calendar.start_s(output.first))
        first = min(start, reach.last) if reach.first is None else reach.first
        yield _of(each, producer or daily_jobs, Span(first, reach.last), endless=reach.first is None)


def children(catalogue: Catalogue, table: TableOf, made: Span) -> Iterator[Relatives]:
    """Yield the partitions that are made from ``made``, in the order of the definitions."""
    for app, dependency in catalogue.readers_of(table.name):
        own = filling_of(app)
        if app.unbounded:
            yield Relatives(table=own.table, app=app, calendar=own.calendar, span=None)
            continue
        first, last = _readers(dependency, own, made)
        if last is None or first <= last:
            span = Span(first, first if last is None else last)
            yield Relatives(
                table=own.table,
                app=None if app.daily else app,
                daily_jobs=DailyJobs(catalogue, app) if app.daily else None,
                calendar=own.calendar,
                span=span,
                endless=last is None,
            )


def children_of_job(catalogue: Catalogue, name: JobName) -> Iterator[JobName]:
    """Yield the jobs that need the day of a job with a key. If all later partitions need it, yield the first."""
    app = catalogue.app(name.app)
    if app.table_of_days is None:
        return
    day = day_of(app, name.key)
    if name in DailyJobs(catalogue, app).on(day):
        for each in children(catalogue, table_of(catalogue, app.table_of_days), Span(day, day)):
            yield from each.names


def parents_of_job(catalogue: Catalogue, name: JobName) -> Iterator[Relatives]:
    """Yield the partitions that a job with a key reads."""
    app = catalogue.app(name.app)
    if app.reads_tables:
        day = day_of(app, name.key)
        yield from parents(catalogue, app, Span(day, day))


def _of(
    dependency: TableDependency,
    maker: App | DailyJobs | None,
    span: Span | None,
    *,
    when: When = "succeeded",
    or_later: bool = False,
    endless: bool = False,
) -> Relatives:
    return Relatives(
        table=dependency.table,
        app=None if isinstance(maker, DailyJobs) else maker,
        daily_jobs=maker if isinstance(maker, DailyJobs) else None,
        calendar=dependency.calendar,
        span=span,
        when=when,
        or_later=or_later,
        endless=endless,
    )


def _readers(dependency: TableDependency, own: Partitioning, made: Span) -> tuple[int, int | None]:
    """Return the first and the last output that needs any of ``made``.

    The last is None if all later outputs need it, and less than the first if no output does. The later an output is,
    the later the range that it needs begins and ends.
    """
    begin_s = dependency.calendar.start_s(made.first)
    end_s = dependency.calendar.start_s(made.last + 1)
    if dependency.begin_s is not None:
        begin_s = max(begin_s, dependency.begin_s)
    cut_s = dependency.end_cutoff_s
    first = _first(own, dependency.end_offset, begin_s + 1, after=True)
    if begin_s >= end_s or (cut_s is not None and cut_s <= begin_s):
        return first, first - 1
    lasts = [*_lasts(dependency, own, end_s)]
    return _trimmed(dependency, own, Span(first, min(lasts))) if lasts else (first, None)


def _lasts(dependency: TableDependency, own: Partitioning, end_s: int) -> Iterator[int]:
    """Yield upper bounds: outputs after any of them need no partition that ends by ``end_s``."""
    cut_s = dependency.end_cutoff_s
    if dependency.cumulative:
        if cut_s is None or cut_s > end_s:
            yield _first(own, dependency.end_offset, end_s + 1, after=True) - 1
    else:
        cut_s = end_s if cut_s is None else min(end_s, cut_s)
    if dependency.start_offset is not None and cut_s is not None:
        yield _first(own, dependency.start_offset, cut_s) - 1


def _trimmed(dependency: TableDependency, own: Partitioning, span: Span) -> tuple[int, int]:
    """Return the first and last output of the span, without outputs at its ends that need nothing at all."""
    first, last = span
    while first <= last and dependency.needed_for(Span(first, first), own.calendar) is None:
        first += 1
    while first <= last and dependency.needed_for(Span(last, last), own.calendar) is None:
        last -= 1
    return first, last


def _first(own: Partitioning, offset: Offset, moment_s: int, *, after: bool = False) -> int:
    """Return the first output that begins no earlier than the offset after the moment; with ``after``, that ends no
    earlier."""
    calendar = own.calendar
    outputs = range(calendar.at(BEGINNING_S) if own.first is None else own.first, calendar.at(_END_S))
    return outputs[0] + bisect_left(
        outputs, moment_s, key=lambda output: offset.before(output + after, calendar)
    )
