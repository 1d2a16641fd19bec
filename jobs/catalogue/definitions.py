"""The catalogue: every app there is, and how they hang together. A new load makes a new one."""

from collections.abc import Iterator, Mapping

from jobs.app import App
from jobs.catalogue.faults import nearest
from jobs.catalogue.graph import ranks
from jobs.catalogue.links import Alternative, Link
from jobs.errors import UnknownApp


class Catalogue(Mapping[str, App]):
    """App name → app. ``load`` makes one of sources; what it holds has been checked as a whole."""

    def __init__(self, apps: Mapping[str, App], alternatives: Mapping[str, tuple[Alternative, ...]]) -> None:
        self._apps = dict(apps)
        self._alternatives = alternatives
        self._ranks = ranks({name: set(app.parent_apps) for name, app in self._apps.items()})
        self._served: dict[str, list[tuple[Alternative, Link]]] = {name: [] for name in self._apps}
        for own in alternatives.values():
            for alternative in own:
                for link in alternative.links:
                    self._served[link.parent.name].append((alternative, link))

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
        """Greater than that of every parent; jobs inserted in this order lock nobody out."""
        return self._ranks[name]

    def children_of(self, name: str) -> tuple[str, ...]:
        """The apps that name this one as a parent, each once, in the order of the definitions."""
        return tuple(dict.fromkeys(alternative.child.name for alternative, _ in self._served[name]))

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
