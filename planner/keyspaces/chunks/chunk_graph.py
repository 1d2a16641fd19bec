"""Graph of the apps that a submission about work IDs may need, before it is cut into chunks.

An app has one node for each set of kwargs that reaches it. It has one more for each node with a ``unique`` dependency
on it. Freshness is not considered here.
"""

from collections import Counter
from collections.abc import Mapping
from graphlib import TopologicalSorter
from typing import NamedTuple

import msgspec
from msgspec import Struct

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.chunks import Chunking, Dependency
from sluice.jobs.model.app import App
from sluice.jobs.model.freshness import mark_of
from sluice.jobs.model.submission import JSON, Submission

#: Maximum number of nodes. Apps that are ``unique``, or reached with different kwargs, multiply upstream.
NODES_MAX = 10_000


class NodeDependency(NamedTuple):
    """Dependency of a node. ``parent`` is the position of the needed node."""

    dependency: Dependency
    parent: int


class AppNode(Struct, frozen=True, kw_only=True):
    """App with its kwargs. ``number`` distinguishes the nodes of one app, counted from 1. ``freshness_scope``
    distinguishes the
    app's results, for freshness (``jobs.model.freshness``)."""

    app: App
    chunking: Chunking
    kwargs: Mapping[str, JSON]
    freshness_scope: str
    number: int
    edges: list[NodeDependency]


class _Same(NamedTuple):
    """Values that two edges must share to lead to the same node. ``child`` is None if the node is shared."""

    app: str
    kwargs: bytes
    child: int | None


def nodes_of(
    catalogue: Catalogue, submission: Submission, counted: Counter[str] | None = None
) -> list[AppNode]:
    """Return the requested node and the nodes that it needs, children first. If the submission names its dependencies
    itself (``after``), return the requested node alone.

    ``counted`` are the nodes that the same plan has already, by app. It is updated.
    """
    name = submission.app
    nodes: list[AppNode] = []
    places: dict[_Same, int] = {}
    counted = Counter() if counted is None else counted

    def place_of(app: str, given: Mapping[str, JSON], child: int | None) -> int:
        same = _Same(app, msgspec.json.encode(given, order="sorted"), child)
        if same not in places:
            if len(nodes) == NODES_MAX:
                raise BadRequest(f"{name} results in more than {NODES_MAX:,} apps with kwargs of their own.")
            counted[app] += 1
            places[same] = len(nodes)
            nodes.append(_node(catalogue.app(app), given, counted[app]))
        return places[same]

    place_of(name, submission.kwargs, None)
    if submission.after is not None:
        return nodes
    for place, node in enumerate(nodes):  # The list grows during the loop.
        for each in node.chunking.dependencies:
            handed = {**node.kwargs, **each.kwargs} if each.kwargs else node.kwargs
            node.edges.append(
                NodeDependency(each, place_of(each.app, handed, place if each.unique else None))
            )
    return _children_first(nodes)


def _node(app: App, kwargs: Mapping[str, JSON], number: int) -> AppNode:
    if app.chunking is None:
        raise BadRequest(f"{app.name} is not keyed by chunk, so it has no work IDs.", where=app.origin)
    try:
        freshness_scope = mark_of(app.chunking, kwargs)
    except ValueError as error:
        raise BadRequest(f"{app.name}: {error}.", where=app.origin) from None
    return AppNode(
        app=app,
        chunking=app.chunking,
        kwargs=kwargs,
        freshness_scope=freshness_scope,
        number=number,
        edges=[],
    )


def _children_first(nodes: list[AppNode]) -> list[AppNode]:
    children: dict[int, list[int]] = {place: [] for place in range(len(nodes))}
    for place, node in enumerate(nodes):
        for edge in node.edges:
            children[edge.parent].append(place)
    order = list(TopologicalSorter(children).static_order())
    moved = {place: position for position, place in enumerate(order)}
    ordered = [nodes[place] for place in order]
    for node in ordered:
        node.edges[:] = [edge._replace(parent=moved[edge.parent]) for edge in node.edges]
    return ordered
