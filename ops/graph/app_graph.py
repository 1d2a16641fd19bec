"""Graph of the apps and external tables, from the definitions, and from the jobs that jobs have added."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.resolve.tables import tables_of
from sluice.jobs.keys.partitions import without_dimension
from sluice.jobs.model.app import App
from sluice.jobs.text.units import counted
from sluice.ops.graph.model import Edge, Graph, Node, table_id


def app_graph(
    catalogue: Catalogue,
    around: str | None,
    added: Collection[tuple[str, str]] = (),
    *,
    among: Collection[str] | None = None,
) -> Graph:
    """Return the graph of all apps and external tables, or of one app with everything upstream and downstream of it.
    ``among`` are the only apps that are drawn, with the external tables that they read. Default: all.

    ``added`` are pairs of an app and an app of which it has added jobs. A pair that the definitions join too is drawn
    as the definitions have it.
    """
    edges = _all_edges(catalogue, added)
    nodes = {name: Node(name, loops=name in catalogue[name].parent_apps) for name in catalogue}
    nodes |= {
        table_id(name): Node(name, is_table=True)
        for table in tables_of(catalogue)
        if table.filled_by is None and (name := without_dimension(table.name))
    }
    names, title, focus = set(nodes), counted(len(catalogue), "app"), ""
    if around is not None:
        focus = catalogue.app(around).name
        names = _around(focus, edges)
        title = f"{focus}, with its upstream and downstream apps"
    names &= _drawn_names(catalogue, edges, among)
    ranks = _ranks(catalogue, edges)
    ordered = sorted(names, key=lambda name: (ranks.get(name, -1), name))
    places = {name: place for place, name in enumerate(ordered)}
    drawn = [edge for edge in edges if {edge.source, edge.target} <= names]
    return Graph(
        tuple(nodes[name] for name in ordered),
        tuple(sorted(drawn, key=lambda edge: (places[edge.source], places[edge.target], edge))),
        title=title,
        note=_left_out(catalogue, names & catalogue.keys()),
        focus=focus,
    )


def _drawn_names(catalogue: Catalogue, edges: Collection[Edge], among: Collection[str] | None) -> set[str]:
    """Return the names of these apps and of the external tables that they read. None: of everything."""
    drawn = catalogue.keys() if among is None else among
    read = {edge.source for edge in edges if edge.target in drawn and edge.source not in catalogue}
    return {*drawn, *read}


def _all_edges(catalogue: Catalogue, added: Collection[tuple[str, str]]) -> set[Edge]:
    edges = {edge for app in catalogue.values() for edge in _edges(app)}
    defined = {(edge.source, edge.target) for edge in edges}
    known = {pair for pair in added if set(pair) <= catalogue.keys()}
    return edges | {Edge(*pair, added=True) for pair in known - defined}


def _around(focus: str, edges: Collection[Edge]) -> set[str]:
    """Return everything upstream and downstream of an app, including the app."""
    upwards, downwards = defaultdict(list), defaultdict(list)
    for edge in edges:
        upwards[edge.target].append(edge.source)
        downwards[edge.source].append(edge.target)
    return {*_reached(focus, upwards), *_reached(focus, downwards)}


def _ranks(catalogue: Catalogue, edges: Collection[Edge]) -> dict[str, int]:
    """Return the rank of each app: greater than that of its parents, and of apps that add jobs of it, unless that
    results in a cycle.
    """
    defined = {name: catalogue.rank(name) for name in catalogue}
    ranks = dict(defined)
    between = [edge for edge in edges if edge.source in defined and edge.source != edge.target]
    rising = [edge for edge in between if edge.added or defined[edge.source] < defined[edge.target]]
    for _ in ranks:
        late = [edge for edge in rising if ranks[edge.target] <= ranks[edge.source]]
        if not late:
            return ranks
        for edge in late:
            ranks[edge.target] = max(ranks[edge.target], ranks[edge.source] + 1)
    return defined


def _edges(app: App) -> Iterator[Edge]:
    for group in app.groups:
        for parents in group.all_of:
            for parent in parents.apps:
                yield Edge(parent, app.name, group.name if len(app.groups) > 1 else "", parents.when)
    yield from (Edge(parent, app.name) for parent in app.situational_parent_apps)
    for each in app.filling.dependencies if app.filling else ():
        if each.producer is None and each.daily_maker is None:
            yield Edge(table_id(each.table), app.name)


def _left_out(catalogue: Catalogue, names: Collection[str]) -> str:
    """Return a note on apps with a two-way function that names no apps.

    Such a function may name any app. Lines from all apps would carry no information, so none are drawn.
    """
    free = [
        name
        for name in sorted(names)
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
