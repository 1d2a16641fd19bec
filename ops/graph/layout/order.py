"""Order of the spots in a layer, so that few lines cross.

Each layer is sorted by the positions of its neighbours, forwards and backwards in turn. After that, adjacent spots
change places if that helps. The best order found is kept.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from itertools import pairwise

from sluice.ops.graph.layout.mesh import Mesh

SWEEPS = 24
#: Sweeps without an improvement after which the search ends.
PATIENCE = 6
#: Greatest number of passes over a layer in which adjacent spots change places.
SWAPS = 4

Neighbours = Sequence[Sequence[int]]


def order(mesh: Mesh) -> list[list[int]]:
    """Return the layers, each from the top down."""
    best = layers = mesh.layers
    fewest, stale = crossings(mesh, layers), 0
    for sweep in range(SWEEPS):
        layers = _swept(mesh, layers, forward=sweep % 2 == 0)
        found = crossings(mesh, layers)
        stale = 0 if found < fewest else stale + 1
        if found <= fewest:
            best, fewest = layers, found
        if stale == PATIENCE:
            break
    return best


def crossings(mesh: Mesh, layers: Sequence[Sequence[int]]) -> int:
    """Return how often lines cross each other."""
    total = 0
    for layer, following in pairwise(layers):
        place = {spot: row for row, spot in enumerate(following)}
        seen: list[int] = []
        for spot in layer:
            rows = sorted(place[other] for other in mesh.after[spot])
            total += sum(len(seen) - bisect_right(seen, row) for row in rows)
            for row in rows:
                insort(seen, row)
    return total


def _swept(mesh: Mesh, layers: Sequence[list[int]], *, forward: bool) -> list[list[int]]:
    swept = [*layers]
    row = {spot: row for layer in layers for row, spot in enumerate(layer)}
    near = mesh.before if forward else mesh.after
    for at in range(len(layers)) if forward else reversed(range(len(layers))):
        swept[at] = _sorted(swept[at], near, row)
        row.update((spot, place) for place, spot in enumerate(swept[at]))
    for at, layer in enumerate(swept):
        swept[at] = _swapped(layer, mesh, row)
        row.update((spot, place) for place, spot in enumerate(swept[at]))
    return swept


def _sorted(layer: Sequence[int], near: Neighbours, row: dict[int, int]) -> list[int]:
    """Sort a layer by the mean position of each spot's neighbours. A spot without neighbours keeps its place."""
    wish = {
        spot: sum(row[other] for other in near[spot]) / len(near[spot]) if near[spot] else float(row[spot])
        for spot in layer
    }
    return sorted(layer, key=wish.__getitem__)


def _swapped(layer: list[int], mesh: Mesh, row: dict[int, int]) -> list[int]:
    """Swap adjacent spots if fewer lines cross afterwards."""
    sides = [
        {spot: sorted(row[other] for other in near[spot]) for spot in layer}
        for near in (mesh.before, mesh.after)
    ]
    layer = [*layer]
    for _ in range(SWAPS):
        has_swapped = False
        for place in range(len(layer) - 1):
            upper, lower = layer[place : place + 2]
            gain = sum(
                _tangle(side[upper], side[lower]) - _tangle(side[lower], side[upper]) for side in sides
            )
            if gain > 0:
                layer[place : place + 2] = lower, upper
                has_swapped = True
        if not has_swapped:
            break
    return layer


def _tangle(upper: Sequence[int], lower: Sequence[int]) -> int:
    """Return how often the lines of two spots cross, given the rows of their neighbours."""
    return sum(bisect_left(lower, row) for row in upper)
