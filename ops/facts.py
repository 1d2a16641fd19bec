"""Facts given to ``sluice plan`` in place of what the ledger knows."""

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.durations import parse_instant
from sluice.jobs.errors import BadRequest
from sluice.jobs.freshness import Age, Busy
from sluice.jobs.known import Known
from sluice.jobs.ref import JobName
from sluice.jobs.states import LIVE, State
from sluice.jobs.submission import JSON
from sluice.jobs.work_ids import Part, WorkId, parse_work_ids, parts_of
from sluice.ops.given_tables import GivenTables, Making, given_tables, made, making
from sluice.planner.keyspaces import keyspace_of

Moment = str | float


class JobFact(Struct, frozen=True, forbid_unknown_fields=True):
    """``at`` is when it came to its state; without it that counts as just now."""

    app: str
    key: str
    state: State
    at: Moment | None = None


class Active(Struct, frozen=True, forbid_unknown_fields=True):
    """Work that is queued or running, by work IDs or from one partition to another; of all where neither is given."""

    app: str
    work_ids: JSON = None
    span: tuple[str, str] | None = None
    state: State | None = None


class Facts(Struct, frozen=True, forbid_unknown_fields=True):
    """``freshness`` is when apps last succeeded on each work ID, or each key; where an app is fresh by kwargs, perhaps
    apart for each set of these, as JSON. ``runs`` are when a submission of an app that is keyed by chunk last did:
    without it the latest on any work ID counts as that. What is not told apart holds for all kwargs. ``partitions`` are
    there, in whichever version, by table: each by itself, or from one to another (``2024-04-03..2024-04-05``)."""

    freshness: Mapping[str, Mapping[str, Moment | Mapping[str, Moment]]] = {}
    runs: Mapping[str, Moment | Mapping[str, Moment]] | None = None
    partitions: Mapping[str, tuple[str, ...]] = {}
    active: tuple[Active, ...] = ()
    jobs: tuple[JobFact, ...] = ()


class Whose(NamedTuple):
    """Results of an app under the kwargs of a mark, or, where it is None, under any."""

    app: str
    mark: str | None


class Given(Struct, frozen=True, kw_only=True):
    """The facts as plans ask for them: jobs by their canonical names, ``tables`` for plans by partition, and what
    ``GivenPast`` tells."""

    jobs: Mapping[JobName, Known]
    fresh: Mapping[Whose, Mapping[str, datetime]]
    runs: Mapping[Whose, datetime]
    under_way: Sequence[Busy]
    tables: GivenTables

    def look_up(self, names: Iterable[JobName]) -> dict[JobName, Known]:
        return {name: self.jobs[name] for name in names if name in self.jobs}


class GivenPast(Struct, frozen=True):
    """What plans by chunk ask for (``planner.chunks.Knowledge``)."""

    now: datetime
    given: Given

    def ages(self, app: str, mark: str, chunks: Sequence[Sequence[WorkId]]) -> list[Age]:
        fresh = self.given.fresh
        times = {**fresh.get(Whose(app, None), {}), **fresh.get(Whose(app, mark), {})}
        return [_age([times.get(str(work_id)) for work_id in chunk]) for chunk in chunks]

    def last_run(self, app: str, mark: str) -> datetime | None:
        runs = self.given.runs
        return runs.get(Whose(app, mark)) or runs.get(Whose(app, None))

    def look_up(self, names: Collection[JobName]) -> dict[JobName, Known]:
        return self.given.look_up(names)

    def busy(self, apps: Collection[str]) -> list[Busy]:
        return [busy for busy in self.given.under_way if busy.app in apps]


def read_facts(file: str, catalogue: Catalogue) -> Given:
    """BadRequest where the file, or - for stdin, cannot be used."""
    try:
        text = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return _given(msgspec.json.decode(text, type=Facts), catalogue)
    except (OSError, msgspec.MsgspecError, ValueError) as error:
        raise BadRequest(
            f"The facts cannot be read: {error}.",
            where=file,
            advice='Write JSON like {"jobs": [{"app": "A", "key": "1", "state": "…"}]}.',
        ) from None


def no_facts(catalogue: Catalogue) -> Given:
    """As if nothing had ever run."""
    return _given(Facts(), catalogue)


def _given(facts: Facts, catalogue: Catalogue) -> Given:
    for app in {*facts.freshness, *(facts.runs or ()), *(active.app for active in facts.active)}:
        catalogue.app(app)
    told = {app: _told_apart(times) for app, times in facts.freshness.items()}
    fresh = {Whose(app, mark): times for app in told for mark, times in told[app].items()}
    latest = {whose: max(times.values()) for whose, times in fresh.items() if times}
    return Given(
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
    """Jobs that make partitions, or have made them."""
    for active in facts.active:
        if (app := catalogue[active.app]).partitioning:
            yield making(app, active.span, active.state)
    for fact in facts.jobs:
        if (app := catalogue.app(fact.app)).partitioning:
            yield made(app, fact.key, fact.state)


def _told_apart(times: Mapping[str, Moment | Mapping[str, Moment]]) -> dict[str | None, dict[str, datetime]]:
    """By mark, what has none under None."""
    found: dict[str | None, dict[str, datetime]] = {}
    for named, at in times.items():
        if isinstance(at, Mapping):
            found.setdefault(_mark(named), {}).update(
                {each: parse_instant(when) for each, when in at.items()}
            )
        else:
            found.setdefault(None, {})[named] = parse_instant(at)
    return found


def _runs(runs: Mapping[str, Moment | Mapping[str, Moment]]) -> dict[Whose, datetime]:
    found = {}
    for app, at in runs.items():
        each = {_mark(mark): when for mark, when in at.items()} if isinstance(at, Mapping) else {None: at}
        found.update({Whose(app, mark): parse_instant(when) for mark, when in each.items()})
    return found


def _mark(text: str) -> str:
    """However it is spaced and ordered."""
    try:
        kwargs = msgspec.json.decode(text, type=dict[str, JSON])
    except msgspec.MsgspecError:
        raise ValueError(f'{text!r} are no kwargs; write JSON like {{"region": "eu"}}') from None
    return msgspec.json.encode(kwargs, order="sorted").decode()


def _succeeded(fresh: Mapping[Whose, Mapping[str, datetime]], catalogue: Catalogue) -> Iterator[Known]:
    """Jobs that stand among what is fresh."""
    for (name, _), times in fresh.items():
        app = catalogue.app(name)
        for key, at in {} if app.chunking else times.items():
            canonical = keyspace_of(app, catalogue).canonical(app, key)
            yield Known(0, app.name, canonical, State.SUCCEEDED, at)


def _jobs(facts: Iterable[JobFact], catalogue: Catalogue) -> Iterator[Known]:
    for fact in facts:
        since = None if fact.at is None else parse_instant(fact.at)
        yield Known(0, *_name(fact, catalogue), fact.state, since)


def _active(active: Active) -> Busy:
    """A job by the work IDs that it is about, as they are given."""
    parts = None if active.work_ids is None else parts_of(parse_work_ids(active.work_ids))
    return Busy(app=active.app, what=active.app, parts=parts, state=active.state)


def _chunks_under_way(jobs: Iterable[JobFact], catalogue: Catalogue) -> Iterable[Busy]:
    for fact in jobs:
        if catalogue.app(fact.app).chunking and fact.state in LIVE - {State.EXPECTED}:
            yield Busy(
                app=fact.app, what=f"{fact.app}/{fact.key}", parts=_parts_of_key(fact.key), state=fact.state
            )


def _parts_of_key(key: str) -> Sequence[Part] | None:
    """A short key tells the work IDs of its chunk, unless they are texts that look like something else."""
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
