"""The graph of the apps, from the definitions alone."""

from jobs.catalogue import Catalogue
from ops.graph.graph import Edge, Graph, Node


def app_graph(catalogue: Catalogue, around: str | None) -> Graph:
    """All apps, or one with everything above and below it."""
    edges = {
        Edge(parent, app.name, group.name if len(app.groups) > 1 else "")
        for app in catalogue.values()
        for group in app.groups
        for parents in group.all_of
        for parent in parents.apps
    }
    names = set(catalogue)
    if around is not None:
        start = catalogue.app(around).name
        parents = {name: [*catalogue[name].parent_apps] for name in catalogue}
        children = {name: [*catalogue.children_of(name)] for name in catalogue}
        names = {*_reached(start, parents), *_reached(start, children)}
    ordered = sorted(names, key=lambda name: (catalogue.rank(name), name))
    places = {name: place for place, name in enumerate(ordered)}
    drawn = [edge for edge in edges if {edge.source, edge.target} <= names]
    drawn.sort(key=lambda edge: (places[edge.source], places[edge.target], edge.group))
    return Graph(tuple(Node(name, name) for name in ordered), tuple(drawn))


def _reached(start: str, ways: dict[str, list[str]]) -> set[str]:
    """Everything that the ways lead to, the start included."""
    reached: set[str] = set()
    ahead = [start]
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            ahead += ways[name]
    return reached
