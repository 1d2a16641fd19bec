"""Graph of the apps, from the definitions alone."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.model.app import App
from sluice.ops.graph.model import Edge, Graph, Node


def app_graph(catalogue: Catalogue, around: str | None) -> Graph:
    """Return the graph of all apps, or of one app with everything upstream and downstream of it."""
    edges = {edge for app in catalogue.values() for edge in _edges(app)}
    names, title, focus = set(catalogue), f"{len(catalogue)} apps", ""
    if around is not None:
        focus = catalogue.app(around).name
        upwards, downwards = defaultdict(list), defaultdict(list)
        for edge in edges:
            upwards[edge.target].append(edge.source)
            downwards[edge.source].append(edge.target)
        names = {*_reached(focus, upwards), *_reached(focus, downwards)}
        title = f"{focus}, with its upstream and downstream apps"
    ordered = sorted(names, key=lambda name: (catalogue.rank(name), name))
    places = {name: place for place, name in enumerate(ordered)}
    drawn = [edge for edge in edges if {edge.source, edge.target} <= names]
    return Graph(
        tuple(Node(name, loops=name in catalogue[name].parent_apps) for name in ordered),
        tuple(sorted(drawn, key=lambda edge: (places[edge.source], places[edge.target], edge))),
        title=title,
        note=_left_out(catalogue, ordered),
        focus=focus,
    )


def _edges(app: App) -> Iterator[Edge]:
    for group in app.groups:
        for parents in group.all_of:
            for parent in parents.apps:
                yield Edge(parent, app.name, group.name if len(app.groups) > 1 else "", parents.when)
    if not app.is_keyed_by_template:
        yield from (Edge(parent, app.name) for parent in app.parent_apps)


def _left_out(catalogue: Catalogue, names: Collection[str]) -> str:
    """Return a note on apps with a two-way function that names no apps.

    Such a function may name any app. Lines from all apps would carry no information, so none are drawn.
    """
    free = [
        name
        for name in names
        if any(not parents.apps for group in catalogue[name].groups for parents in group.all_of)
    ]
    return f"A two-way function determines further parents of {', '.join(free)}." if free else ""


def _reached(start: str, ways: Mapping[str, Sequence[str]]) -> set[str]:
    """Return everything that the edges lead to, including the start."""
    reached: set[str] = set()
    ahead = [start]
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            ahead += ways.get(name, ())
    return reached
