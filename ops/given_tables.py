"""Partitions from given facts, as plans read them (``planner.keyspaces.partitions.table_demand.Knowledge``)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.resolve.tables import TableOf, table_of
from sluice.jobs.keys.calendar import Calendar, Span
from sluice.jobs.keys.partitions import read_span
from sluice.jobs.model.app import App
from sluice.jobs.model.partition_state import Extent, Held
from sluice.jobs.model.plan import Known
from sluice.jobs.states import LIVE, State
from sluice.planner.keyspaces.partitions.partition_keys import ALWAYS, key_of, partitioning_of, read_key
from sluice.planner.keyspaces.partitions.ranges import in_both, places, united, without


class GivenTables(Struct, frozen=True):
    """Partitions by table that exist or are under way, in order. They count for every version of the table."""

    tables: Mapping[str, Sequence[Held]] = {}

    def held(self, table: str, _version: str, within: Span) -> list[Held]:
        held = self.tables.get(table, ())
        met = (held[place] for place in places([each.span for each in held], within))
        return [Held(in_both([each.span], [within])[0], each.by) for each in met]

    def extent(self, table: str, _version: str) -> Extent:
        held = self.tables.get(table, ())
        there = [each.span.last for each in held if each.by is None]
        return Extent(held[0].span.first if held else None, max(there, default=None))


class Making(Struct, frozen=True):
    """Job that makes partitions, or has made them."""

    app: App
    span: Span
    state: State

    @property
    def known(self) -> Known:
        return Known(0, self.app.name, key_of(self.app, self.span), self.state)


def making(app: App, span: tuple[str, str] | None, state: State | None) -> Making:
    """Return the job under way that makes these partitions. ValueError if the span is missing or invalid."""
    if app.unbounded:
        return Making(app, ALWAYS, state or State.RUNNING)
    if span is None:
        raise ValueError(f"{app.name} is keyed by partition: its span is missing: first and last partition")
    return Making(app, _read(partitioning_of(app).calendar, *span), state or State.RUNNING)


def made(app: App, key: str, state: State) -> Making:
    """Return the job with this key and the partitions in its key."""
    return Making(app, read_key(app, key), state)


def given_tables(
    catalogue: Catalogue, there: Mapping[str, Iterable[str]], makings: Iterable[Making]
) -> GivenTables:
    """Combine the facts by table. A partition that exists is not attributed to a job under way. If two jobs make the
    same partition, it belongs to the job that is listed first.
    """
    spans: dict[str, list[Span]] = defaultdict(list)
    under_way: dict[str, list[Making]] = defaultdict(list)
    for name, texts in there.items():
        spans[name] += _spans(table_of(catalogue, name), texts)
    for each in makings:
        table = partitioning_of(each.app).table
        if each.state is State.SUCCEEDED:
            spans[table].append(each.span)
        elif each.state in LIVE - {State.EXPECTED}:
            under_way[table].append(each)
    names = spans.keys() | under_way.keys()
    return GivenTables({name: _held(united(spans[name]), under_way[name]) for name in names})


def _held(there: list[Span], under_way: Iterable[Making]) -> list[Held]:
    held = [Held(span) for span in there]
    for each in under_way:
        free = without([each.span], [other.span for other in held])
        held = sorted([*held, *(Held(span, each.known) for span in free)], key=lambda held: held.span)
    return held


def _spans(table: TableOf, texts: Iterable[str]) -> Iterator[Span]:
    for text in texts:
        try:
            yield read_span(table.calendar, text)
        except ValueError as error:
            raise ValueError(f"at {table.name}, {error}") from None


def _read(calendar: Calendar, first: str, last: str) -> Span:
    span = Span(calendar.read(first), calendar.read(last))
    if span.last < span.first:
        raise ValueError(f"{first!r} to {last!r} ends before it begins")
    return span
