"""Vertical position of each spot: near the middle of its neighbours, without overlapping other spots in its layer."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from sluice.ops.graph.mesh import Mesh

SWEEPS = 16
#: Number of last sweeps in which neighbours on both sides count.
LAST_SWEEPS = 4
#: Weight of spots on long lines. Straight long lines have priority over well-placed cells.
LONG_WEIGHT = 6.0


def place(mesh: Mesh, layers: Sequence[Sequence[int]], halves: Sequence[float], cells: int) -> list[float]:
    """Return the middle of each spot. ``halves`` is the room that each spot takes, to either side of its middle. The
    first ``cells`` spots are cells.
    """
    heights = [0.0] * len(halves)
    for layer in layers:
        _put(layer, [0.0] * len(layer), [1.0] * len(layer), halves, heights)
    both = [[*before, *after] for before, after in zip(mesh.before, mesh.after, strict=True)]
    is_long = [spot >= cells and any(other >= cells for other in near) for spot, near in enumerate(both)]
    weights = [LONG_WEIGHT if long else 1.0 for long in is_long]
    for sweep in range(SWEEPS):
        forward = sweep % 2 == 0
        near = both if sweep >= SWEEPS - LAST_SWEEPS else mesh.before if forward else mesh.after
        for layer in layers if forward else reversed(layers):
            wishes = [
                median(heights[other] for other in near[spot]) if near[spot] else heights[spot]
                for spot in layer
            ]
            _put(layer, wishes, [weights[spot] for spot in layer], halves, heights)
    return heights


def _put(
    layer: Sequence[int],
    wishes: Sequence[float],
    weights: Sequence[float],
    halves: Sequence[float],
    heights: list[float],
) -> None:
    """Put spots as near to their wished positions as their order and their room allow.

    Neighbours with wished positions that are too close form a block. It is put at the weighted mean of the wishes
    of its members.
    """
    offsets = [0.0]
    for upper, lower in pairwise(layer):
        offsets.append(offsets[-1] + halves[upper] + halves[lower])
    # Of each block: the weighted sum of the wished starts of its members, their weight, and their number.
    blocks: list[tuple[float, float, int]] = []
    for wish, weight, offset in zip(wishes, weights, offsets, strict=False):
        total, heavy, count = (wish - offset) * weight, weight, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / heavy:
            above = blocks.pop()
            total, heavy, count = total + above[0], heavy + above[1], count + above[2]
        blocks.append((total, heavy, count))
    starts = [total / heavy for total, heavy, count in blocks for _ in range(count)]
    for spot, start, offset in zip(layer, starts, offsets, strict=False):
        heights[spot] = start + offset
