"""Tables: the apps that fill and read them, their versions, and the confs that name them.

``link_tables`` finds the app that fills each table that others read, and the part that they read. ``with_versions``
computes the resulting versions. ``table_of`` returns a table by name: the app that fills it, its calendar, and its
current version.

A table that no app fills is external. Only this module knows the calendar of each table. It is the calendar of the app
that fills the table. For an external table the readers define it, and all of them must define the same. Its first
partition may be defined by some of them, and applies to all.

A conf is a named set of apps, with the final app of each mode. ``confs`` of a document maps each conf to
``{mode: app}``. A submission of the conf in a mode requests that app, and therefore everything that it is made from. A
document in another form names a ``conf_planner``: a user's function that receives the rest of the document and returns
it in this form.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from sluice.jobs.catalogue.catalogue import Catalogue
from sluice.jobs.catalogue.cycles import ranks
from sluice.jobs.catalogue.errors import At, DefinitionFaults, nearest
from sluice.jobs.catalogue.fields.draft import ConfEntry, Draft, Reading
from sluice.jobs.catalogue.fields.partition_options import MODE, moments_of, told
from sluice.jobs.catalogue.resolve.slices import Dimensions
from sluice.jobs.catalogue.sources.functions import find_function
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.keys.partitions import Partitioning, TableDependency, slice_of
from sluice.jobs.model.app import App
from sluice.jobs.model.submission import SAGA

_VERSION_CHARACTERS = 8


def link_tables(drafts: Mapping[str, Draft], faults: DefinitionFaults) -> dict[str, Draft]:
    """Return the drafts with the tables that they read. Adds a fault for each contradiction."""
    linking = _Linking(drafts, faults)
    return {name: linking.linked(draft) for name, draft in drafts.items()}


def with_versions(apps: Mapping[str, App]) -> dict[str, App]:
    """Return the apps, with versions if they are keyed by partition. The tables must not form a cycle."""
    reads = {name: app.partitioning.dependencies for name, app in apps.items() if app.partitioning}
    order = ranks({name: {each.producer for each in of if each.producer} for name, of in reads.items()})
    versions: dict[str, str] = {}
    for name in sorted(order, key=order.__getitem__):
        versions[name] = _version(apps[name].digest, reads[name], versions)
    return {name: stamped(app, versions) for name, app in apps.items()}


def stamped(app: App, versions: Mapping[str, str]) -> App:
    """Return the app with its version and the versions of the apps that fill its inputs."""
    if app.filling is None:
        return app
    read = tuple(
        replace(each, version=versions[each.producer]) if each.producer else each
        for each in app.filling.dependencies
    )
    filling = replace(app.filling, dependencies=read)
    if app.daily:
        return replace(app, daily=filling)
    return replace(app, version=versions[app.name], partitioning=filling)


class _Linking:
    """Linking of all drafts. Consequences of a fault that was already reported are not reported again."""

    def __init__(self, drafts: Mapping[str, Draft], faults: DefinitionFaults) -> None:
        self._drafts = drafts
        self._faults = faults
        self._filled = _filled(drafts)
        #: App that makes the days of each table that is made by jobs with keys.
        self._daily = {draft.days.table: draft.name for draft in drafts.values() if draft.days}
        #: First reader of each external table, and the calendar that it defines.
        self._externals: dict[str, tuple[str, Calendar]] = {}
        self._firsts = self._firsts_of_externals()
        self._dimensions = Dimensions(drafts)

    def linked(self, draft: Draft) -> Draft:
        if draft.days:
            # Jobs with keys have no second dimension of partitions, so they read all slices of a table.
            return replace(draft, days=self._linked(draft, draft.days).of_slice(None))
        if draft.partitioning:
            return replace(draft, partitioning=self._linked(draft, draft.partitioning))
        return draft

    def _linked(self, draft: Draft, partitioning: Partitioning) -> Partitioning:
        at = draft.at.inside("table_dependencies")
        found: list[TableDependency] = []
        for reading in draft.readings:
            table = reading.dependency.table
            dependency = self._dependency(reading, draft.name, partitioning.calendar, at.inside(table))
            dependency = self._dimensions.linked(reading, dependency, draft, at.inside(table))
            if dependency in found:
                at.add(f"{table} is listed twice")
            found.append(dependency)
        return replace(partitioning, dependencies=tuple(found))

    def _dependency(self, reading: Reading, reader: str, own: Calendar, at: At) -> TableDependency:
        producer = self._filled.get(reading.dependency.table)
        if producer is None:
            table = reading.dependency.table
            calendar = self._of_external(reading, reader, own, at)
            _, first_s = self._firsts.get(table, (reader, None))
            daily_maker = self._daily.get(table)
            return replace(_cut(reading, calendar, own, None, at), first_s=first_s, daily_maker=daily_maker)
        name, calendar = producer
        if self._faults.about(name) and name != reader:
            return replace(reading.dependency, producer=name, calendar=calendar)
        if reading.calendar and not _agrees(reading.calendar, calendar):
            at.add(f"partition: {name} fills it {told(calendar)}; leave it out here")
        if reading.first is not None:
            at.add(f"partition: first: {name} fills it; set its first partition there")
        filler = self._drafts[name].partitioning
        first = filler.first if filler else None
        first_s = None if first is None else calendar.start_s(first)
        return replace(_cut(reading, calendar, own, name, at), first_s=first_s)

    def _firsts_of_externals(self) -> dict[str, tuple[str, int]]:
        """Return the start of each external table's first partition, with the first reader that defines it."""
        firsts: dict[str, tuple[str, int]] = {}
        for draft in self._drafts.values():
            for reading in draft.readings:
                table = reading.dependency.table
                if reading.first is None or draft.filling is None or table in self._filled:
                    continue
                calendar = self._calendar(reading, draft.filling.calendar)
                at = draft.at.inside("table_dependencies").inside(table).inside("partition")
                try:
                    first = calendar.at(moments_of(reading.first, (calendar,))[0])
                except ValueError as error:
                    at.add(f"first: {error}")
                    continue
                reader, first_s = firsts.setdefault(table, (draft.name, calendar.start_s(first)))
                if first_s != calendar.start_s(first):
                    begins = calendar.write(calendar.at(first_s))
                    at.add(
                        f"first: for {reader} its first partition is {begins}, for {draft.name}"
                        f" {calendar.write(first)}; set it in one of them"
                    )
        return firsts

    def _calendar(self, reading: Reading, own: Calendar) -> Calendar:
        """Return the calendar of a table that no app with partitions fills, as this reader defines it."""
        return Calendar("day") if reading.dependency.table in self._daily else reading.calendar or own

    def _of_external(self, reading: Reading, reader: str, own: Calendar, at: At) -> Calendar:
        table = reading.dependency.table
        calendar = self._calendar(reading, own)
        if daily_maker := self._daily.get(table):
            if reading.calendar and not _agrees(reading.calendar, calendar):
                at.add(f"partition: the jobs of {daily_maker} make it {told(calendar)}; leave it out here")
            return calendar
        if called_so := self._drafts.get(table):
            other = called_so.filling
            fills = f"fills {other.table}. Read that, or" if other else "fills none;"
            at.add(f"no app fills a table of this name; the app {table} {fills} rename one of them")
        if self._faults.about(reader):
            return calendar
        first, theirs = self._externals.setdefault(table, (reader, calendar))
        if theirs != calendar:
            at.add(
                f"partition: for {first} its partitions are {told(theirs)}, for {reader} {told(calendar)};"
                " set the same partition in both"
            )
        return calendar


def _filled(drafts: Mapping[str, Draft]) -> dict[str, tuple[str, Calendar]]:
    """Return the app and the calendar of each table that an app with partitions fills.

    Adds a fault for a table that two apps fill.
    """
    filled: dict[str, tuple[str, Calendar]] = {}
    first: dict[str, str] = {}
    for draft in drafts.values():
        if draft.filling is None:
            continue
        table = draft.filling.table
        if (other := first.setdefault(table, draft.name)) != draft.name:
            draft.at.add(
                f"output_table: both {other} and {draft.name} fill {table}; only one app may fill a table"
            )
        elif draft.partitioning:
            filled[table] = (draft.name, draft.partitioning.calendar)
    return filled


def _agrees(said: Calendar, calendar: Calendar) -> bool:
    """Return whether the two calendars are equal. If only the unit is written, any format agrees."""
    return said.unit == calendar.unit and said.format in ("", calendar.format)


def _cut(
    reading: Reading, calendar: Calendar, own: Calendar, producer: str | None, at: At
) -> TableDependency:
    """Return the dependency with its cut-offs as moments: start of the first partition and end of the last one."""
    ends: list[int | None] = []
    for place, (word, value) in enumerate(
        (("start_cutoff", reading.start_cutoff), ("end_cutoff", reading.end_cutoff))
    ):
        try:
            ends.append(None if value is None else moments_of(value, (calendar, own))[place])
        except ValueError as error:
            at.add(f"{word}: {error}")
            ends.append(None)
    start_s, end_s = ends
    if start_s is not None and end_s is not None and start_s >= end_s:
        at.add(f"start_cutoff: {reading.start_cutoff} is after end_cutoff, {reading.end_cutoff}")
    return replace(
        reading.dependency,
        producer=producer,
        calendar=calendar,
        start_cutoff_s=start_s,
        end_cutoff_s=end_s,
    )


def _version(digest: str, reads: Sequence[TableDependency], versions: Mapping[str, str]) -> str:
    """Return a digest of the app and, for each table it reads, in order, of the version of the app that fills it."""
    parts = [digest]
    for each in reads:
        parts += each.table, versions[each.producer] if each.producer else ""
    text = "\0".join(parts)
    return hashlib.blake2b(text.encode()).hexdigest()[:_VERSION_CHARACTERS]


class TableOf(NamedTuple):
    """A table.

    A slice of a table with a second dimension is a table, and then ``app`` is for this slice (``App.of_slice``).
    ``app`` fills it, in its current definition. If it is None, jobs of ``daily_maker`` with keys make its days, or an
    external process fills it. Then the version is the unit of the partitions.
    """

    name: str
    app: App | None
    calendar: Calendar
    daily_maker: App | None = None

    @property
    def filled_by(self) -> str | None:
        """Name of the app whose jobs fill it; None if an external process does."""
        maker = self.app or self.daily_maker
        return maker.name if maker else None

    @property
    def version(self) -> str:
        return self.app.version if self.app else self.calendar.unit


def table_of(catalogue: Catalogue, name: str) -> TableOf:
    """Return the table of this name. Raises BadRequest if no app fills or reads it."""
    app = catalogue.fills(name)
    if app and app.partitioning:
        return TableOf(name, app, app.partitioning.calendar)
    if name in catalogue.externals:
        return TableOf(name, None, catalogue.externals[name], catalogue.makes_days_of(name))
    if slices := catalogue.slices_of(name):
        raise BadRequest(
            f"{name} has a second dimension, and no slice of it is named.",
            where=name,
            advice=f"Name one, like {slices[0]!r}; in commands, with --by {slice_of(slices[0])[1:-1]}.",
        )
    raise BadRequest(
        f"No app fills or reads a table {name!r}{nearest(name, [each.name for each in tables_of(catalogue)])}.",
        advice="`sluice partitions ls` lists the tables that apps fill and read.",
    )


def slices_by(
    catalogue: Catalogue, name: str, by: Mapping[str, str | Sequence[str]] | None
) -> tuple[str, ...]:
    """Return the names of the slices of a table that ``{dimension: values}`` selects. Without a selection, return those
    of all values; for a table without a second dimension, its name.

    BadRequest if the table has no second dimension, or not this one, or not these values.
    """
    slices = catalogue.slices_of(name)
    if by is None:
        return slices or (name,)
    dimension = catalogue.dimension_of(name)
    if dimension is None:
        raise BadRequest(f"{table_of(catalogue, name).name} has no second dimension.", where=name)
    try:
        return tuple(dimension.table(name, value) for value in dimension.chosen(by))
    except ValueError as error:
        raise BadRequest(f"{name} has no such slice: {error}.", where=name) from None


def tables_of(catalogue: Catalogue) -> Iterator[TableOf]:
    """Yield all tables: first the external ones, then the tables of apps, each after its inputs."""
    yield from (table_of(catalogue, name) for name in sorted(catalogue.externals))
    for app in sorted(catalogue.values(), key=lambda app: (catalogue.rank(app.name), app.name)):
        for each in app.slices:
            if each.partitioning and not app.unbounded:
                yield TableOf(each.partitioning.table, each, each.partitioning.calendar)


_PLANNER = "conf_planner"
_CONFS = "confs"


def planned(document: dict[str, object], at: At) -> dict[str, object]:
    """Return the document as its conf planner converts it, or unchanged if it names none."""
    path = document.pop(_PLANNER, None)
    if path is None:
        return document
    within = at.inside(_PLANNER)
    try:
        if not isinstance(path, str):
            raise ValueError(f"{path!r} is not the path of a function; write package.module:name")
        made = find_function(path)(document)
    except ValueError as error:
        within.add(str(error))
        return {}
    except Exception as error:
        # The function is the user's and may raise anything.
        within.add(f"{path} raised {type(error).__name__}: {error}")
        return {}
    if not isinstance(made, Mapping) or not all(isinstance(name, str) for name in made):
        within.add(f"{path} returned no mapping of apps: {made!r}")
        return {}
    return dict(made)


def confs_of_document(document: dict[str, object], at: At) -> Iterator[ConfEntry]:
    """Remove the confs from the document and yield them."""
    confs = document.pop(_CONFS, {})
    if not isinstance(confs, Mapping):
        at.inside(_CONFS).add(f"it has to be a mapping of names to {{mode: app}}; this is {confs!r}")
        return
    for name, terminals in confs.items():
        within = at.inside(f"{_CONFS}.{name}")
        if not isinstance(terminals, Mapping) or not terminals:
            within.add(
                f"it has to be a mapping of modes to apps, like {{offline: join}}; this is {terminals!r}"
            )
            continue
        yield ConfEntry(
            at=within, name=str(name), terminals={str(mode): app for mode, app in terminals.items()}
        )


def read_confs(entries: Iterable[ConfEntry], drafts: Mapping[str, Draft]) -> dict[str, dict[str, str]]:
    """Return the app of each mode, by conf."""
    first: dict[str, ConfEntry] = {}
    for entry in entries:
        if entry.name in drafts:
            entry.at.add("an app has this name too; rename the conf")
        if first.setdefault(entry.name, entry) is not entry:
            entry.at.add(f"it is defined in {first[entry.name].at.source} already")
        for mode, app in entry.terminals.items():
            _check(mode, app, drafts, entry.at)
    return {
        name: {mode: app for mode, app in entry.terminals.items() if isinstance(app, str)}
        for name, entry in first.items()
    }


def _check(mode: str, app: object, drafts: Mapping[str, Draft], at: At) -> None:
    if mode == SAGA:
        at.add(f"{mode} is no name of a mode: it is the option by which a failed submission is undone")
    if not MODE.fullmatch(mode):
        at.add(f"{mode!r} is no name of a mode; a letter, then letters, digits, '_', '.' or '-'")
    if not isinstance(app, str) or app not in drafts:
        at.add(f"{mode}: there is no app {app!r}{nearest(app, drafts)}")
    elif drafts[app].partitioning is None:
        at.add(f"{mode}: {app} is not keyed by partition")
