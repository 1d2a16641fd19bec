"""In which order the spots of a layer stand: so that few lines cross.

Layer after layer is sorted by where its neighbours are, to and fro; then spots next to each other change places where
that helps. The best order that was seen is kept.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from itertools import pairwise

from sluice.ops.graph.mesh import Mesh

SWEEPS = 24
#: It ends earlier where so many sweeps brought nothing.
PATIENCE = 6
#: How often a layer is gone through for neighbours to change places.
SWAPS = 4

Neighbours = Sequence[Sequence[int]]


def order(mesh: Mesh) -> list[list[int]]:
    """The layers, each from the top down."""
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
    """How often lines cross each other."""
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
    """By the middle of each spot's neighbours; one without any keeps its place."""
    wish = {
        spot: sum(row[other] for other in near[spot]) / len(near[spot]) if near[spot] else float(row[spot])
        for spot in layer
    }
    return sorted(layer, key=wish.__getitem__)


def _swapped(layer: list[int], mesh: Mesh, row: dict[int, int]) -> list[int]:
    """With two that stand next to each other in the other order, wherever fewer lines cross so."""
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
    """How often the lines of two spots cross, the neighbours of which are in these rows."""
    return sum(bisect_left(lower, row) for row in upper)
