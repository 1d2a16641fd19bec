"""Lines between cells: from layer to layer, with a bend in each layer that they pass.

Links that pass layers share their bends with links from the same cell or to the same cell, whichever are more. So a
table that sixty apps read is one line that splits. Each link can still be followed, because lines share a part only
if they have the same beginning or the same end.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from sluice.ops.graph.layout.chart import CellLink, Chart


class Mesh(Struct, frozen=True):
    """Layers, and the spots that lines pass.

    Spots are cells, numbered by their places in the chart, and bends, numbered after the cells. ``layers`` has the
    spots of each layer, ``ways`` the spots that a link passes, including its ends. ``before`` and ``after`` have
    the spots that lines join with each spot in the layers next to its own.
    """

    layers: list[list[int]]
    ways: dict[CellLink, list[int]]
    before: list[list[int]]
    after: list[list[int]]
    bends: int


def weave(chart: Chart, layer_of: Sequence[int]) -> Mesh:
    layers: list[list[int]] = [[] for _ in range(max(layer_of) + 1)]
    for cell, layer in enumerate(layer_of):
        layers[layer].append(cell)
    long = [link for link in chart.links if layer_of[link.right] > layer_of[link.left] + 1]
    shared = Counter(end for link in long if not link.label for end in _ends(link))
    bends: dict[object, int] = {}
    ways: dict[CellLink, list[int]] = {}
    for link in chart.links:
        trunk = link if link.label else max(_ends(link), key=lambda end: shared[end])
        way = [link.left]
        for layer in range(layer_of[link.left] + 1, layer_of[link.right]):
            if (trunk, layer) not in bends:
                bends[trunk, layer] = len(layer_of) + len(bends)
                layers[layer].append(bends[trunk, layer])
            way.append(bends[trunk, layer])
        ways[link] = [*way, link.right]
    return Mesh(layers, ways, *_neighbours(ways, len(layer_of) + len(bends)), len(bends))


def _ends(link: CellLink) -> tuple[tuple[str, int, bool], tuple[str, int, bool]]:
    return ("from", link.left, link.is_back), ("to", link.right, link.is_back)


def _neighbours(ways: dict[CellLink, list[int]], count: int) -> tuple[list[list[int]], list[list[int]]]:
    hops = sorted({hop for way in ways.values() for hop in pairwise(way)})
    before, after = defaultdict(list), defaultdict(list)
    for left, right in hops:
        after[left].append(right)
        before[right].append(left)
    return [before[spot] for spot in range(count)], [after[spot] for spot in range(count)]
