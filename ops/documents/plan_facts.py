"""Facts given to ``sluice plan`` in place of the ledger's data.

``GivenTables`` has the partitions from given facts, as plans read them
(``planner.keyspaces.partitions.table_demand.Knowledge``).
"""

import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.resolve.tables import TableOf, table_of
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.calendar import Calendar, Span
from sluice.jobs.keys.partitions import read_span
from sluice.jobs.keys.work_ids import Part, WorkId, parse_work_ids, parts_of
from sluice.jobs.model.app import App
from sluice.jobs.model.freshness import Age, UnfinishedWork
from sluice.jobs.model.names import JobName
from sluice.jobs.model.partition_state import HeldRange, KnownExtent
from sluice.jobs.model.plan import KnownJob
from sluice.jobs.model.submission import JSON
from sluice.jobs.states import LIVE, State
from sluice.jobs.text.units import parse_instant
from sluice.planner.keyspaces.choose import keyspace_of
from sluice.planner.keyspaces.partitions.partition_keys import (
    ALWAYS,
    app_of_key,
    canonical_key,
    key_of,
    partitioning_of,
    read_key,
)
from sluice.planner.keyspaces.partitions.ranges import in_both, places, united, without


class GivenTables(Struct, frozen=True):
    """Partitions by table that exist or are under way, in order. They count for every version of the table."""

    tables: Mapping[str, Sequence[HeldRange]] = {}

    def held(self, table: str, _version: str, within: Span) -> list[HeldRange]:
        held = self.tables.get(table, ())
        met = (held[place] for place in places([each.span for each in held], within))
        return [HeldRange(in_both([each.span], [within])[0], each.by) for each in met]

    existing = held

    def extent(self, table: str, _version: str) -> KnownExtent:
        held = self.tables.get(table, ())
        there = [each.span.last for each in held if each.by is None]
        return KnownExtent(held[0].span.first if held else None, max(there, default=None))


class Making(Struct, frozen=True):
    """Job that makes partitions, or has made them."""

    app: App
    span: Span
    state: State

    @property
    def known(self) -> KnownJob:
        return KnownJob(0, self.app.name, key_of(self.app, self.span), self.state)


def making(app: App, span: tuple[str, str] | None, state: State | None) -> Making:
    """Return the job under way that makes these partitions. ValueError if the span is missing or invalid."""
    if app.unbounded:
        return Making(app, ALWAYS, state or State.RUNNING)
    if span is None:
        raise ValueError(f"{app.name} is keyed by partition: its span is missing: first and last partition")
    if partitioning_of(app).by:
        raise ValueError(
            f"{app.name} has slices, and a span names none; write its jobs in jobs, with their keys"
        )
    return Making(app, _read(partitioning_of(app).calendar, *span), state or State.RUNNING)


def made(app: App, key: str, state: State) -> Making:
    """Return the job with this key and the partitions in its key."""
    found = app_of_key(app, canonical_key(app, key))
    return Making(found, read_key(found, key), state)


def given_tables(
    catalogue: Catalogue, there: Mapping[str, Iterable[str]], makings: Iterable[Making]
) -> GivenTables:
    """Combine the facts by table. A partition that exists is not attributed to a job under way. If two jobs make the
    same partition, it belongs to the job that is listed first.
    """
    spans: dict[str, list[Span]] = defaultdict(list)
    under_way: dict[str, list[Making]] = defaultdict(list)
    for name, texts in there.items():
        for each_slice in catalogue.slices_of(name) or (name,):
            spans[each_slice] += _spans(table_of(catalogue, each_slice), texts)
    for each in makings:
        table = partitioning_of(each.app).table
        if each.state is State.SUCCEEDED:
            spans[table].append(each.span)
        elif each.state in LIVE - {State.EXPECTED}:
            under_way[table].append(each)
    names = spans.keys() | under_way.keys()
    return GivenTables({name: _held(united(spans[name]), under_way[name]) for name in names})


def _held(there: list[Span], under_way: Iterable[Making]) -> list[HeldRange]:
    held = [HeldRange(span) for span in there]
    for each in under_way:
        free = without([each.span], [other.span for other in held])
        held = sorted([*held, *(HeldRange(span, each.known) for span in free)], key=lambda held: held.span)
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


Moment = str | float


class JobFact(Struct, frozen=True, forbid_unknown_fields=True):
    """Fact about one job. ``at`` is the time at which the job entered its state. Default: just now."""

    app: str
    key: str
    state: State
    at: Moment | None = None


class Active(Struct, frozen=True, forbid_unknown_fields=True):
    """Work that is queued or running. For an app keyed by chunk it is given by ``work_ids``. Default: all work IDs. For
    an app keyed by partition, ``span`` has the first and the last partition.
    """

    app: str
    work_ids: JSON = None
    span: tuple[str, str] | None = None
    state: State | None = None


class Facts(Struct, frozen=True, forbid_unknown_fields=True):
    """Facts as they are written in the file.

    ``freshness`` has the last success of each app by work ID or key. If the freshness of an app depends on kwargs, the
    times may be nested by kwargs, written as JSON. ``runs`` has the last successful submission of each app keyed by
    chunk. Default: the latest time in ``freshness``. Times without kwargs hold for all kwargs. ``partitions`` has the
    existing partitions of each table, in any version: single ones, or ranges like ``2024-04-03..2024-04-05``.
    """

    freshness: Mapping[str, Mapping[str, Moment | Mapping[str, Moment]]] = {}
    runs: Mapping[str, Moment | Mapping[str, Moment]] | None = None
    partitions: Mapping[str, tuple[str, ...]] = {}
    active: tuple[Active, ...] = ()
    jobs: tuple[JobFact, ...] = ()


class Whose(NamedTuple):
    """Results of an app under the kwargs of a freshness freshness_scope. If ``freshness_scope`` is None, they hold for
    any kwargs.
    """

    app: str
    freshness_scope: str | None


class GivenFacts(Struct, frozen=True, kw_only=True):
    """Facts in the form that plans read. ``jobs`` is by canonical name. ``tables`` is for plans by partition. Plans by
    chunk read the facts through ``GivenPast``.
    """

    jobs: Mapping[JobName, KnownJob]
    fresh: Mapping[Whose, Mapping[str, datetime]]
    runs: Mapping[Whose, datetime]
    under_way: Sequence[UnfinishedWork]
    tables: GivenTables

    def look_up(self, names: Iterable[JobName]) -> dict[JobName, KnownJob]:
        return {name: self.jobs[name] for name in names if name in self.jobs}


class GivenPast(Struct, frozen=True):
    """Facts as the ``Knowledge`` of plans by chunk (``planner.keyspaces.chunks.chunk_plan``)."""

    now: datetime
    given: GivenFacts

    def ages(self, app: str, freshness_scope: str, chunks: Sequence[Sequence[WorkId]]) -> list[Age]:
        fresh = self.given.fresh
        times = {**fresh.get(Whose(app, None), {}), **fresh.get(Whose(app, freshness_scope), {})}
        return [_age([times.get(str(work_id)) for work_id in chunk]) for chunk in chunks]

    def last_run(self, app: str, freshness_scope: str) -> datetime | None:
        runs = self.given.runs
        return runs.get(Whose(app, freshness_scope)) or runs.get(Whose(app, None))

    def look_up(self, names: Collection[JobName]) -> dict[JobName, KnownJob]:
        return self.given.look_up(names)

    def busy(self, apps: Collection[str]) -> list[UnfinishedWork]:
        return [busy for busy in self.given.under_way if busy.app in apps]


def read_facts(file: str, catalogue: Catalogue) -> GivenFacts:
    """Read the facts from a file, or from stdin if it is ``-``. BadRequest if they cannot be used."""
    try:
        text = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return _given(msgspec.json.decode(text, type=Facts), catalogue)
    except (OSError, msgspec.MsgspecError, ValueError) as error:
        raise BadRequest(
            f"The facts cannot be read: {error}.",
            where=file,
            advice='Write JSON like {"jobs": [{"app": "A", "key": "1", "state": "…"}]}.',
        ) from None


def no_facts(catalogue: Catalogue) -> GivenFacts:
    """Return facts without any past run."""
    return _given(Facts(), catalogue)


def _given(facts: Facts, catalogue: Catalogue) -> GivenFacts:
    for app in {*facts.freshness, *(facts.runs or ()), *(active.app for active in facts.active)}:
        catalogue.app(app)
    told = {app: _told_apart(times) for app, times in facts.freshness.items()}
    fresh = {
        Whose(app, freshness_scope): times for app in told for freshness_scope, times in told[app].items()
    }
    latest = {whose: max(times.values()) for whose, times in fresh.items() if times}
    return GivenFacts(
        jobs={job.name: job for job in (*_succeeded(fresh, catalogue), *_jobs(facts.jobs, catalogue))},
        fresh=fresh,
        runs=latest if facts.runs is None else _runs(facts.runs),
        under_way=[
            *(_active(each) for each in facts.active if not catalogue[each.app].partitioning),
            *_chunks_under_way(facts.jobs, catalogue),
        ],
        tables=given_tables(catalogue, facts.partitions, _makings(facts, catalogue)),
    )


def _makings(facts: Facts, catalogue: Catalogue) -> Iterator[Making]:
    """Yield the jobs that make partitions, or have made them."""
    for active in facts.active:
        if (app := catalogue[active.app]).partitioning:
            yield making(app, active.span, active.state)
    for fact in facts.jobs:
        if (app := catalogue.app(fact.app)).partitioning:
            yield made(app, fact.key, fact.state)


def _told_apart(times: Mapping[str, Moment | Mapping[str, Moment]]) -> dict[str | None, dict[str, datetime]]:
    """Return the times by freshness freshness_scope. Times without a freshness_scope are under None."""
    found: dict[str | None, dict[str, datetime]] = {}
    for named, at in times.items():
        if isinstance(at, Mapping):
            found.setdefault(_freshness_scope(named), {}).update(
                {each: parse_instant(when) for each, when in at.items()}
            )
        else:
            found.setdefault(None, {})[named] = parse_instant(at)
    return found


def _runs(runs: Mapping[str, Moment | Mapping[str, Moment]]) -> dict[Whose, datetime]:
    found = {}
    for app, at in runs.items():
        each = (
            {_freshness_scope(freshness_scope): when for freshness_scope, when in at.items()}
            if isinstance(at, Mapping)
            else {None: at}
        )
        found.update(
            {Whose(app, freshness_scope): parse_instant(when) for freshness_scope, when in each.items()}
        )
    return found


def _freshness_scope(text: str) -> str:
    """Return the kwargs as canonical JSON, independent of spaces and order."""
    try:
        kwargs = msgspec.json.decode(text, type=dict[str, JSON])
    except msgspec.MsgspecError:
        raise ValueError(f'{text!r} is not a mapping of kwargs; write JSON like {{"region": "eu"}}') from None
    return msgspec.json.encode(kwargs, order="sorted").decode()


def _succeeded(fresh: Mapping[Whose, Mapping[str, datetime]], catalogue: Catalogue) -> Iterator[KnownJob]:
    """Yield a succeeded job for each key in the freshness facts."""
    for (name, _), times in fresh.items():
        app = catalogue.app(name)
        for key, at in {} if app.chunking else times.items():
            canonical = keyspace_of(app, catalogue).canonical(app, key)
            yield KnownJob(0, app.name, canonical, State.SUCCEEDED, at)


def _jobs(facts: Iterable[JobFact], catalogue: Catalogue) -> Iterator[KnownJob]:
    for fact in facts:
        since = None if fact.at is None else parse_instant(fact.at)
        yield KnownJob(0, *_name(fact, catalogue), fact.state, since)


def _active(active: Active) -> UnfinishedWork:
    """Return the active work with the work IDs that the facts give."""
    parts = None if active.work_ids is None else parts_of(parse_work_ids(active.work_ids))
    return UnfinishedWork(app=active.app, what=active.app, parts=parts, state=active.state)


def _chunks_under_way(jobs: Iterable[JobFact], catalogue: Catalogue) -> Iterable[UnfinishedWork]:
    for fact in jobs:
        if catalogue.app(fact.app).chunking and fact.state in LIVE - {State.EXPECTED}:
            yield UnfinishedWork(
                app=fact.app, what=f"{fact.app}/{fact.key}", parts=_parts_of_key(fact.key), state=fact.state
            )


def _parts_of_key(key: str) -> Sequence[Part] | None:
    """Return the work IDs that a short key of a chunk lists. None for a long key, and for a text that is not a list of
    work IDs. A text ID that looks like a number or a range is read as such.
    """
    text = key.rpartition("@")[0] or key
    try:
        return None if ".." in text else parts_of(parse_work_ids(text))
    except ValueError:
        return None


def _age(times: Sequence[Any]) -> Age:
    known = [at for at in times if at is not None]
    return Age(len(times) - len(known), min(known, default=None))


def _name(fact: JobFact, catalogue: Catalogue) -> JobName:
    app = catalogue.app(fact.app)
    return JobName(app.name, keyspace_of(app, catalogue).canonical(app, fact.key))
