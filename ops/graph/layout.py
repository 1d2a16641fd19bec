"""A place for every node: in layers from left to right, each right of all its parents.

The usual three steps of a layered drawing. An edge that passes layers gets a bend in each, which takes part
like a node, so that edges run between the boxes. Layers are sorted by where their neighbours are, to and fro;
then everything moves to the middle of its neighbours as far as the others leave room.
"""

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from statistics import median

from msgspec import Struct

from ops.graph.graph import Edge, Graph

#: More sweeps seldom change anything.
SWEEPS = 8

#: A node by its id; or a bend of an edge, by the edge and the layer.
Spot = str | tuple[Edge, int]


class Layout(Struct, frozen=True):
    """``layers`` holds the spots of each layer from the top down; ``heights`` is how far down each one is, where
    1 is the height of a row; ``ways`` holds the spots that each edge passes, its ends included."""

    layers: list[list[Spot]]
    heights: dict[Spot, float]
    ways: dict[Edge, list[Spot]]


def lay_out(graph: Graph) -> Layout:
    depths = _depths(graph)
    ways = {edge: _way(edge, depths) for edge in graph.edges}
    layers: list[list[Spot]] = [[] for _ in range(max(depths.values(), default=-1) + 1)]
    for node in graph.nodes:
        layers[depths[node.id]].append(node.id)
    for edge, way in ways.items():
        for place, bend in enumerate(way[1:-1], start=depths[edge.source] + 1):
            layers[place].append(bend)
    before, after = _neighbours(ways.values())
    _sort(layers, before, after)
    return Layout(layers, _heights(layers, before, after), ways)


def _depths(graph: Graph) -> dict[str, int]:
    """The longest way to each node from one without parents."""
    parents = defaultdict(list)
    children = defaultdict(list)
    for edge in graph.edges:
        parents[edge.target].append(edge.source)
        children[edge.source].append(edge.target)
    missing = {node.id: len(parents[node.id]) for node in graph.nodes}
    depths = {id_: 0 for id_, count in missing.items() if not count}
    ahead = list(depths)
    while ahead:
        id_ = ahead.pop()
        for child in children[id_]:
            depths[child] = max(depths.get(child, 0), depths[id_] + 1)
            missing[child] -= 1
            if not missing[child]:
                ahead.append(child)
    return depths


def _way(edge: Edge, depths: dict[str, int]) -> list[Spot]:
    bends = range(depths[edge.source] + 1, depths[edge.target])
    return [edge.source, *((edge, depth) for depth in bends), edge.target]


def _neighbours(ways: Iterable[list[Spot]]) -> tuple[dict[Spot, list[Spot]], dict[Spot, list[Spot]]]:
    """Of each spot those in the layer before it, and those in the layer after it."""
    before: dict[Spot, list[Spot]] = defaultdict(list)
    after: dict[Spot, list[Spot]] = defaultdict(list)
    for way in ways:
        for left, right in pairwise(way):
            after[left].append(right)
            before[right].append(left)
    return before, after


def _sort(layers: list[list[Spot]], before: dict[Spot, list[Spot]], after: dict[Spot, list[Spot]]) -> None:
    """Sort each layer by the median place of its neighbours in the layer that was sorted last."""
    for sweep in range(SWEEPS):
        forward = sweep % 2 == 0
        order = range(1, len(layers)) if forward else range(len(layers) - 2, -1, -1)
        for place in order:
            sorted_last = layers[place - 1 if forward else place + 1]
            places = {spot: float(row) for row, spot in enumerate(sorted_last)}
            _sort_layer(layers[place], before if forward else after, places)


def _sort_layer(layer: list[Spot], near: dict[Spot, list[Spot]], places: dict[Spot, float]) -> None:
    """One without neighbours there keeps its place."""
    wishes = {
        spot: median(places[other] for other in near[spot]) if near[spot] else float(row)
        for row, spot in enumerate(layer)
    }
    layer.sort(key=wishes.__getitem__)


def _heights(
    layers: list[list[Spot]], before: dict[Spot, list[Spot]], after: dict[Spot, list[Spot]]
) -> dict[Spot, float]:
    rows = max(map(len, layers), default=0)
    heights: dict[Spot, float] = {
        spot: row + (rows - len(layer)) / 2 for layer in layers for row, spot in enumerate(layer)
    }
    for sweep in range(SWEEPS):
        near = before if sweep % 2 == 0 else after
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wishes = [
                median(heights[other] for other in near[spot]) if near[spot] else heights[spot]
                for spot in layer
            ]
            heights.update(zip(layer, _apart(wishes), strict=True))
    least = min(heights.values(), default=0.0)
    return {spot: height - least for spot, height in heights.items()}


def _apart(wishes: list[float]) -> list[float]:
    """The heights nearest to the wishes that keep the order and a row between each two.

    Neighbours whose wishes are too close form a block, which stands where its members wish on average.
    """
    blocks: list[
        tuple[float, int]
    ] = []  # the sum of what its members wish its first one's height to be, and how many
    for place, wish in enumerate(wishes):
        total, count = wish - place, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / count:
            above, members = blocks.pop()
            total, count = total + above, count + members
        blocks.append((total, count))
    firsts = [total / count for total, count in blocks for _ in range(count)]
    return [first + place for place, first in enumerate(firsts)]
