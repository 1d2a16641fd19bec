"""The catalogue: all apps and their relations. Each load creates a new one."""

from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError
from itertools import chain

from sluice.jobs.catalogue.cycles import ranks
from sluice.jobs.catalogue.errors import nearest
from sluice.jobs.catalogue.resolve.dependency_links import Alternative, Bridge, Link
from sluice.jobs.errors import UnknownApp
from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.keys.partitions import Dimension, TableDependency
from sluice.jobs.model.app import App
from sluice.jobs.model.dependency import MET, Need
from sluice.jobs.model.submission import UNKNOWN_APP_GRACE_S
from sluice.jobs.policy.tenants import DEFAULT_TENANT, NO_SETTINGS
from sluice.jobs.schedules.schedule import Schedule
from sluice.jobs.states import State


class Catalogue(Mapping[str, App]):
    """App name → app. ``load`` makes it from sources; its content has been checked as a whole.

    ``schedules`` are by id. ``sources`` names all loaded sources, including those without schedules. ``externals``
    are the tables that no app with partitions fills, with the calendar of each. Each slice of a table with a second
    dimension is a table by itself in ``externals``, ``fills`` and ``readers_of``, and each app there is for one
    slice (``App.of_slice``). ``confs`` are by name, each with the
    final app of each mode. ``notify_commands`` are the commands that rules of notifications run. A submission may name
    an app that is missing here for ``unknown_app_grace_s`` seconds. ``tenant_settings`` has the weights and quotas.
    """

    def __init__(
        self,
        apps: Mapping[str, App],
        alternatives: Mapping[str, tuple[Alternative, ...]],
        schedules: Mapping[str, Schedule],
        sources: Iterable[str],
        confs: Mapping[str, Mapping[str, str]],
        *,
        unknown_app_grace_s: float = UNKNOWN_APP_GRACE_S,
    ) -> None:
        self.unknown_app_grace_s = unknown_app_grace_s
        #: Weights and quotas of tenants. They are settings of a process, and no part of the definitions.
        self.tenant_settings = NO_SETTINGS
        self.schedules = dict(schedules)
        self.sources = tuple(sources)
        self.confs = dict(confs)
        self.notify_commands = _notify_commands(apps.values(), schedules.values())
        #: Tenant of each app that does not belong to the default tenant.
        self.tenants = _tenants(apps)
        self._apps = dict(apps)
        self._alternatives = alternatives
        self._undoing = frozenset(app.compensate for app in apps.values() if app.compensate is not None)
        self._ranks = _ranks(self._apps)
        self._filled = _filled(self._apps.values())
        self._dimensions = _dimensions(self._apps.values())
        self._readers = _readers(self._apps.values())
        self._daily = {app.table_of_days: app for app in self._apps.values() if app.table_of_days}
        self.externals: Mapping[str, Calendar] = {
            table: of[0][1].calendar for table, of in self._readers.items() if table not in self._filled
        } | dict.fromkeys(self._daily, Calendar("day"))
        groups = tuple(chain.from_iterable(alternatives.values()))
        self._served = _links_by_parent(self._apps, groups)
        self._bridged = _bridges_by_parent(self._apps, groups)
        self._reading = self.below(app.name for app in self._apps.values() if app.reads_tables)
        self._needed_chunk_apps = _needed_chunk_apps(self._apps)
        self._needing_chunks = self.below(self._needed_chunk_apps) if self._needed_chunk_apps else set()
        self.has_chunks = any(app.chunking for app in self._apps.values())
        self._levels = _levels(self._apps, self._ranks)
        self._minding = self.below(name for name in alternatives if _has_lag(alternatives[name]))

    def revised(self, apps: Iterable[App]) -> "Catalogue":
        """Return a copy with these apps in place of those with the same names."""
        revised = {**self._apps, **{app.name: app for app in apps}}
        catalogue = Catalogue(
            revised,
            self._alternatives,
            self.schedules,
            self.sources,
            self.confs,
            unknown_app_grace_s=self.unknown_app_grace_s,
        )
        catalogue.tenant_settings = self.tenant_settings
        return catalogue

    def __getitem__(self, name: str) -> App:
        return self._apps[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._apps)

    def __len__(self) -> int:
        return len(self._apps)

    def app(self, name: str) -> App:
        """Return the app of this name. Raises UnknownApp with the most similar name."""
        try:
            return self._apps[name]
        except KeyError:
            raise UnknownApp(
                f"There is no app {name!r}{nearest(name, self._apps)}.",
                advice="`sluice apps show` lists all apps.",
            ) from None

    def tenant_of(self, name: str) -> str:
        """Return the tenant of an app, or of the app that fills a table."""
        filling = self.fills(name)
        return self.tenants.get(filling.name if filling else name, DEFAULT_TENANT)

    def apps_of(self, tenant: str) -> list[str]:
        return [name for name, app in self._apps.items() if app.tenant == tenant]

    def rank(self, name: str) -> int:
        """Return a number greater than that of every parent. Plans insert jobs in this order, so that they do not
        block each other.

        Exception: two-way functions may form a cycle of apps.
        """
        return self._ranks[name]

    def children_of(self, name: str) -> tuple[str, ...]:
        """Return the apps that name this app as a parent or read the table that it fills.

        Each occurs once, in the order of the definitions.
        """
        serving = [*self._served[name], *self._bridged[name]]
        tables = (table for each in self._apps[name].slices if (table := each.table))
        readers = (reader for table in tables for reader in self.readers_of(table))
        children = [alternative.child for alternative, _ in serving] + [app for app, _ in readers]
        return tuple(dict.fromkeys(app.name for app in children))

    def dependents_of(self, name: str) -> tuple[str, ...]:
        """Return the apps that need this one for the same work IDs, each once, in the order of the definitions."""
        return tuple(
            app.name
            for app in self._apps.values()
            if app.chunking and any(each.app == name for each in app.chunking.dependencies)
        )

    def fills(self, table: str) -> App | None:
        """Return the app with partitions that fills this table, if there is one."""
        return self._filled.get(table)

    def slices_of(self, table: str) -> tuple[str, ...]:
        """Return the slices of a table with a second dimension. Empty for any other text."""
        by = self._dimensions.get(table)
        return by.tables(table) if by else ()

    def dimension_of(self, table: str) -> Dimension | None:
        """Return the second dimension of a table, if it has one."""
        return self._dimensions.get(table)

    @property
    def daily_makers(self) -> tuple[App, ...]:
        """Apps that are keyed by template and whose jobs make the days of a table."""
        return tuple(self._daily.values())

    def makes_days_of(self, table: str) -> App | None:
        """Return the app that is keyed by template and whose jobs make the days of this table, if there is one."""
        return self._daily.get(table)

    def readers_of(self, table: str) -> tuple[tuple[App, TableDependency], ...]:
        """Return the apps that read this table, and which part of it, in the order of the definitions."""
        return tuple(self._readers.get(table, ()))

    def follows_failure(self, name: str) -> bool:
        """Return whether some child needs a job of this app to fail or to finish in any way."""
        if name not in self._apps:
            return False
        ways: list[Link | Bridge] = [link for _, link in self._served[name]]
        ways += [bridge for _, bridge in self._bridged[name]]
        return any(State.FAILED in MET[way.when] for way in ways)

    @property
    def queues(self) -> tuple[str, ...]:
        """Queue of each app; it has the app's name."""
        return tuple(self._apps)

    def alternatives(self, name: str) -> tuple[Alternative, ...]:
        """Return the groups of an app, in order. Empty for an app without needs."""
        return self._alternatives[name]

    def served_by(self, name: str) -> tuple[tuple[Alternative, Link], ...]:
        """Return every group of another app that names this app as a parent, with the link."""
        return tuple(self._served[name])

    def has_bridges(self, name: str) -> bool:
        """Return whether a two-way function takes part in determining the needs of this app's jobs."""
        return any(alternative.bridges for alternative in self._alternatives[name])

    @property
    def has_table_readers(self) -> bool:
        """True if jobs with keys read tables."""
        return bool(self._reading)

    def may_need_tables(self, name: str) -> bool:
        """Return whether this app's jobs have keys, and a plan for them may need partitions."""
        return name in self._reading and self._apps[name].is_keyed_by_template

    def may_need_others(self, name: str) -> bool:
        """Return whether this app's jobs have keys, and a plan for them may need partitions or chunks."""
        needs = name in self._reading or name in self._needing_chunks
        return needs and self._apps[name].is_keyed_by_template

    def names_work_ids(self, name: str) -> bool:
        """Return whether this app's jobs have keys, and a two-way function may name work IDs that they need."""
        return bool(self.needed_chunk_apps(name))

    def is_for_chunk(self, need: Need) -> bool:
        """Return whether a need is for a chunk."""
        app = self._apps.get(need.parent.app)
        return app is not None and app.chunking is not None

    def needed_chunk_apps(self, name: str) -> tuple[str, ...]:
        """Return the apps keyed by chunk of which jobs with keys of this app need work IDs, in order."""
        return self._needed_chunk_apps.get(name, ())

    def level(self, name: str) -> int:
        """Return the place of an app in a plan with jobs with keys and steps. Steps have odd levels, jobs with keys
        have even levels. No job needs a job of a higher level. On its own level, it needs only jobs of its own kind."""
        return self._levels[name]

    def minds_age(self, name: str) -> bool:
        """Return whether an ancestor of this app's jobs may have succeeded too long ago (``max_lag``)."""
        return name in self._minding

    def undoes(self, name: str) -> bool:
        """Return whether this app's jobs undo the jobs of another app."""
        return name in self._undoing

    def bridged_by(self, name: str) -> tuple[tuple[Alternative, Bridge], ...]:
        """Return every group of jobs with keys in which a two-way function may name a job of this app as a parent."""
        return tuple(each for each in self._bridged[name] if each[0].child.is_keyed_by_template)

    def bridged_to_work_ids(self, name: str) -> tuple[tuple[App, Bridge], ...]:
        """Return every app keyed by chunk with a two-way function that may name a job of this app as a parent."""
        return tuple(
            (group.child, bridge) for group, bridge in self._bridged[name] if group.child.chunking is not None
        )

    def below(self, names: Iterable[str]) -> set[str]:
        """Return these apps and all of their descendants."""
        reached: set[str] = set()
        ahead = [*names]
        while ahead:
            if (name := ahead.pop()) not in reached:
                reached.add(name)
                ahead += self.children_of(name)
        return reached


def _tenants(apps: Mapping[str, App]) -> Mapping[str, str]:
    return {name: app.tenant for name, app in apps.items() if app.tenant != DEFAULT_TENANT}


def _dimensions(apps: Iterable[App]) -> dict[str, Dimension]:
    """Return the second dimension of each table that has one."""
    partitionings = [app.partitioning for app in apps if app.partitioning]
    read = {each.table: each.by for of in partitionings for each in of.dependencies if each.by}
    filled = {each.table: each.by for each in partitionings if each.by}
    return read | filled


def _filled(apps: Iterable[App]) -> dict[str, App]:
    """Return the app with partitions that fills each table. Slices are tables."""
    slices = (each for app in apps for each in app.slices)
    return {each.partitioning.table: each for each in slices if each.partitioning}


def _readers(apps: Iterable[App]) -> dict[str, list[tuple[App, TableDependency]]]:
    """Return the apps that read each table, and which part of it. Slices are tables."""
    readers: dict[str, list[tuple[App, TableDependency]]] = {}
    for app in chain.from_iterable(each.slices for each in apps):
        for dependency in app.filling.dependencies if app.filling else ():
            readers.setdefault(dependency.table, []).append((app, dependency))
    return readers


def _notify_commands(apps: Iterable[App], schedules: Iterable[Schedule]) -> frozenset[str]:
    rules = (*(app.policy.notify for app in apps), *(each.notify for each in schedules))
    return frozenset(rule.to.command for each in rules for rule in each if rule.to.command)


def _links_by_parent(
    names: Iterable[str], groups: Iterable[Alternative]
) -> dict[str, list[tuple[Alternative, Link]]]:
    """Return the links to each of these apps, with the groups that contain them."""
    links: dict[str, list[tuple[Alternative, Link]]] = {name: [] for name in names}
    for group in groups:
        for link in group.links:
            links[link.parent.name].append((group, link))
    return links


def _bridges_by_parent(
    names: Iterable[str], groups: Iterable[Alternative]
) -> dict[str, list[tuple[Alternative, Bridge]]]:
    """Return the bridges that may lead to each of these apps, with the groups that contain them."""
    bridges: dict[str, list[tuple[Alternative, Bridge]]] = {name: [] for name in names}
    for group in groups:
        for bridge in group.bridges:
            for name in bridge.parents:
                bridges[name].append((group, bridge))
    return bridges


def _needed_chunk_apps(apps: Mapping[str, App]) -> dict[str, tuple[str, ...]]:
    needed = {
        name: sorted({parent for parent in app.parent_apps if parent in apps and apps[parent].chunking})
        for name, app in apps.items()
        if app.is_keyed_by_template
    }
    return {name: tuple(chunked) for name, chunked in needed.items() if chunked}


def _has_lag(alternatives: Iterable[Alternative]) -> bool:
    return any(way.lag_s_max is not None for each in alternatives for way in each.ways)


def _levels(apps: Mapping[str, App], ranks: Mapping[str, int]) -> dict[str, int]:
    levels: dict[str, int] = {}
    for name in sorted(apps, key=ranks.__getitem__):
        app = apps[name]
        by_step = app.partitioning is not None
        least = 1 if by_step else 2 if app.reads_tables else 0
        above = (
            levels[parent] + (by_step != (apps[parent].partitioning is not None))
            for parent in app.parent_apps
            if parent in levels
        )
        levels[name] = max([least, *above])
    return levels


def _ranks(apps: Mapping[str, App]) -> dict[str, int]:
    """Return the ranks by all named parents. If two-way functions form a cycle, their parents are ignored."""
    try:
        return ranks({name: set(app.parent_apps) for name, app in apps.items()})
    except CycleError:
        return ranks({name: set(app.firm_parent_apps) for name, app in apps.items()})
