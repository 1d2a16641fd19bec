"""The catalogue: every app there is, and how they hang together. A new load makes a new one."""

from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError
from itertools import chain

from sluice.jobs.app import App
from sluice.jobs.calendar import Calendar
from sluice.jobs.catalogue.faults import nearest
from sluice.jobs.catalogue.graph import ranks
from sluice.jobs.catalogue.links import Alternative, Bridge, Link
from sluice.jobs.errors import UnknownApp
from sluice.jobs.gate import MET
from sluice.jobs.partitioning import TableDependency
from sluice.jobs.schedule import Schedule
from sluice.jobs.states import State
from sluice.jobs.submission import UNKNOWN_APP_GRACE_S


class Catalogue(Mapping[str, App]):
    """App name → app. ``load`` makes one of sources; what it holds has been checked as a whole.

    ``schedules`` are by their ids. ``sources`` names all that was loaded, also what holds no schedule. ``externals``
    are the tables that apps read and none fills, and how the partitions of each are counted. ``confs`` are by their
    names, each with the app that it ends in by mode. For ``unknown_app_grace_s`` seconds a submission may name an app
    that these definitions do not have yet.
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
        self.schedules = dict(schedules)
        self.sources = tuple(sources)
        self.confs = dict(confs)
        self._apps = dict(apps)
        self._alternatives = alternatives
        self._undoing = frozenset(app.compensate for app in apps.values() if app.compensate is not None)
        self._ranks = _ranks(self._apps)
        self._filled = {app.partitioning.table: app for app in self._apps.values() if app.partitioning}
        self._readers: dict[str, list[tuple[App, TableDependency]]] = {}
        for app in self._filled.values():
            for dependency in app.partitioning.dependencies if app.partitioning else ():
                self._readers.setdefault(dependency.table, []).append((app, dependency))
        self.externals: Mapping[str, Calendar] = {
            table: of[0][1].calendar for table, of in self._readers.items() if table not in self._filled
        }
        self._served: dict[str, list[tuple[Alternative, Link]]] = {name: [] for name in self._apps}
        self._bridged: dict[str, list[tuple[Alternative, Bridge]]] = {name: [] for name in self._apps}
        for alternative in chain.from_iterable(alternatives.values()):
            for link in alternative.links:
                self._served[link.parent.name].append((alternative, link))
            for bridge in alternative.bridges:
                for name in bridge.parents:
                    self._bridged[name].append((alternative, bridge))
        self._minding = self._below(name for name in alternatives if _has_lag(alternatives[name]))

    def revised(self, apps: Iterable[App]) -> "Catalogue":
        """The same with these apps in place of those that are called so."""
        revised = {**self._apps, **{app.name: app for app in apps}}
        return Catalogue(
            revised,
            self._alternatives,
            self.schedules,
            self.sources,
            self.confs,
            unknown_app_grace_s=self.unknown_app_grace_s,
        )

    def __getitem__(self, name: str) -> App:
        return self._apps[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._apps)

    def __len__(self) -> int:
        return len(self._apps)

    def app(self, name: str) -> App:
        """The app of this name; UnknownApp names the nearest there is."""
        try:
            return self._apps[name]
        except KeyError:
            raise UnknownApp(
                f"There is no app {name!r}{nearest(name, self._apps)}.",
                advice="`sluice apps show` lists those that there are.",
            ) from None

    def rank(self, name: str) -> int:
        """Greater than that of every parent, unless two-way functions lead round in a circle of apps; jobs inserted
        in this order lock nobody out."""
        return self._ranks[name]

    def children_of(self, name: str) -> tuple[str, ...]:
        """The apps that name this one as a parent, or read the table that it fills, each once, in the order of the
        definitions."""
        serving = [*self._served[name], *self._bridged[name]]
        partitioning = self._apps[name].partitioning
        readers = self.readers_of(partitioning.table) if partitioning else ()
        children = [alternative.child for alternative, _ in serving] + [app for app, _ in readers]
        return tuple(dict.fromkeys(app.name for app in children))

    def dependents_of(self, name: str) -> tuple[str, ...]:
        """The apps that need this one on the same work IDs, each once, in the order of the definitions."""
        return tuple(
            app.name
            for app in self._apps.values()
            if app.chunking and any(each.app == name for each in app.chunking.dependencies)
        )

    def fills(self, table: str) -> App | None:
        """The app whose output the table is; None for one that others fill."""
        return self._filled.get(table)

    def readers_of(self, table: str) -> tuple[tuple[App, TableDependency], ...]:
        """The apps that read this table, and how much of it, in the order of the definitions."""
        return tuple(self._readers.get(table, ()))

    def follows_failure(self, name: str) -> bool:
        """Whether some child needs a job of this app to end otherwise than well."""
        if name not in self._apps:
            return False
        ways: list[Link | Bridge] = [link for _, link in self._served[name]]
        ways += [bridge for _, bridge in self._bridged[name]]
        return any(State.FAILED in MET[way.when] for way in ways)

    @property
    def queues(self) -> tuple[str, ...]:
        """The queue of each app, which is called like it."""
        return tuple(self._apps)

    def alternatives(self, name: str) -> tuple[Alternative, ...]:
        """The groups of an app, in order; empty for one that needs nobody."""
        return self._alternatives[name]

    def served_by(self, name: str) -> tuple[tuple[Alternative, Link], ...]:
        """Every place where another app's group names this one as a parent."""
        return tuple(self._served[name])

    def has_bridges(self, name: str) -> bool:
        """Whether a two-way function has a say in what this app's jobs need."""
        return any(alternative.bridges for alternative in self._alternatives[name])

    def minds_age(self, name: str) -> bool:
        """Whether a parent of this app's jobs, or one further up, may have succeeded too long ago (``max_lag``)."""
        return name in self._minding

    def undoes(self, name: str) -> bool:
        """Whether this app's jobs are there to undo those of another."""
        return name in self._undoing

    def bridged_by(self, name: str) -> tuple[tuple[Alternative, Bridge], ...]:
        """Every place where a two-way function may name one of this app's jobs as a parent."""
        return tuple(self._bridged[name])

    def _below(self, names: Iterable[str]) -> set[str]:
        """These apps and all that depend on them, however far down."""
        reached: set[str] = set()
        ahead = [*names]
        while ahead:
            if (name := ahead.pop()) not in reached:
                reached.add(name)
                ahead += self.children_of(name)
        return reached


def _has_lag(alternatives: Iterable[Alternative]) -> bool:
    return any(way.lag_s_max is not None for each in alternatives for way in each.ways)


def _ranks(apps: Mapping[str, App]) -> dict[str, int]:
    """By all that is named as a parent; where functions lead round in a circle, by the rest."""
    try:
        return ranks({name: set(app.parent_apps) for name, app in apps.items()})
    except CycleError:
        return ranks({name: set(app.firm_parent_apps) for name, app in apps.items()})
