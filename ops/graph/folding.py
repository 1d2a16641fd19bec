"""Many equal jobs as one.

Jobs are equal if they are of one app and in one state, and if what they need and what needs them is equal too,
however many of it there are. So an arrow between two that stand for many says: each has one on the other side.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from sluice.ops.graph.graph import Graph, Node

#: So many equal jobs are drawn one by one.
DRAWN_MAX = 6
NOTE = "Equal jobs are drawn as one; --all draws each."

#: The number of the kind that each node belongs to.
Kinds = Mapping[str, int]
#: The neighbours of each node on one side, and how they are joined.
Neighbours = Mapping[str, Sequence[tuple[str, str, str]]]


def folded(graph: Graph) -> Graph:
    """With one node for each kind that has too many. What the picture is about stays by itself."""
    kinds = _kinds(graph)
    members: dict[int, list[Node]] = defaultdict(list)
    for node in graph.nodes:
        members[kinds[node.id]].append(node)
    drawn = {
        node.id: node if len(alike) <= DRAWN_MAX else _pile(alike)
        for alike in members.values()
        for node in alike
    }
    nodes = dict.fromkeys(drawn[node.id] for node in graph.nodes)
    edges = {
        replace(edge, source=drawn[edge.source].id, target=drawn[edge.target].id) for edge in graph.edges
    }
    note = f"{graph.note} {NOTE}".strip() if len(nodes) < len(graph.nodes) else graph.note
    return replace(graph, nodes=tuple(nodes), edges=tuple(sorted(edges)), note=note)


def _pile(alike: Sequence[Node]) -> Node:
    keys = sorted(node.key or "" for node in alike)
    since = min((node.since for node in alike if node.since), default=None)
    return replace(alike[0], key=f"{keys[0]} … {keys[-1]}", since=since, count=len(alike))


def _kinds(graph: Graph) -> Kinds:
    """Refined by the neighbours on either side in turn, until that tells nothing more apart."""
    above, below = defaultdict(list), defaultdict(list)
    for edge in graph.edges:
        above[edge.target].append((edge.source, edge.group, edge.when))
        below[edge.source].append((edge.target, edge.group, edge.when))
    numbers: dict[object, int] = {}
    kinds: Kinds = {
        node.id: numbers.setdefault((node.app, node.state, node.id == graph.focus), len(numbers))
        for node in graph.nodes
    }
    told_apart = 0
    while told_apart < len(set(kinds.values())):
        told_apart = len(set(kinds.values()))
        kinds = _refined(kinds, graph.nodes, above)
        kinds = _refined(kinds, graph.nodes[::-1], below)
    return kinds


def _refined(kinds: Kinds, nodes: Iterable[Node], near: Neighbours) -> Kinds:
    """The nodes come after their neighbours, so that one pass tells them apart along the whole of a chain."""
    refined: dict[str, int] = {}
    numbers: dict[object, int] = {}
    for node in nodes:
        neighbours = frozenset((refined.get(id_), kinds[id_], *label) for id_, *label in near[node.id])
        refined[node.id] = numbers.setdefault((kinds[node.id], neighbours), len(numbers))
    return refined
