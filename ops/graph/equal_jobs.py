"""Many equal jobs as one node.

Jobs are equal if they have the same app and state, and if their parents and their children are equal too, whatever
the number of these. So an arrow between two nodes for many jobs means that each job has a counterpart on the other
side.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from sluice.ops.graph.model import Edge, Graph, Node

#: Greatest number of equal jobs that are drawn one by one.
DRAWN_MAX = 6
NOTE = "Equal jobs are drawn as one; --all draws each."

#: Number of the kind that each node belongs to.
Kinds = Mapping[str, int]
#: Neighbours of each node on one side, each with the properties of the edge.
Neighbours = Mapping[str, Sequence[tuple[str, Edge]]]


def folded(graph: Graph) -> Graph:
    """Return the graph with one node for each kind that has too many jobs. The focus of the picture stays a separate
    node.
    """
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
    """Return the kinds, refined by the neighbours on either side in turn until that distinguishes no more nodes."""
    above, below = defaultdict(list), defaultdict(list)
    for edge in graph.edges:
        bare = replace(edge, source="", target="")
        above[edge.target].append((edge.source, bare))
        below[edge.source].append((edge.target, bare))
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
    """Refine the kinds by the neighbours on one side. The nodes follow their neighbours, so that one pass
    distinguishes them along a whole chain.
    """
    refined: dict[str, int] = {}
    numbers: dict[object, int] = {}
    for node in nodes:
        neighbours = frozenset((refined.get(id_), kinds[id_], edge) for id_, edge in near[node.id])
        refined[node.id] = numbers.setdefault((kinds[node.id], neighbours), len(numbers))
    return refined
