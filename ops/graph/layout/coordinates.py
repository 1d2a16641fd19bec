"""Positions of the spots in a layer, of the layers, and of the strips of a wide drawing.

- ``place`` returns the vertical position of each spot: near the middle of its neighbours, without overlapping other
  spots in its layer.
- ``columns`` yields the width of each layer, and its distance from the next layer.
- ``strips`` divides a drawing that is much wider than it is high. The strips are read like lines of text.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from math import sqrt
from statistics import median

from msgspec import Struct

from sluice.ops.graph.layout.chart import Chart, text_width
from sluice.ops.graph.layout.mesh import Mesh

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
    weights = _weights(both, cells)
    for sweep in range(SWEEPS):
        forward = sweep % 2 == 0
        near = both if sweep >= SWEEPS - LAST_SWEEPS else mesh.before if forward else mesh.after
        for layer in layers if forward else reversed(layers):
            wishes = [_wish(spot, near[spot], heights) for spot in layer]
            _put(layer, wishes, [weights[spot] for spot in layer], halves, heights)
    return heights


def _weights(near: Sequence[Sequence[int]], cells: int) -> list[float]:
    """Return the weight of each spot. A spot is on a long line if it and one of its neighbours are no cells."""
    is_long = [spot >= cells and any(other >= cells for other in others) for spot, others in enumerate(near)]
    return [LONG_WEIGHT if long else 1.0 for long in is_long]


def _wish(spot: int, near: Sequence[int], heights: Sequence[float]) -> float:
    """Return the wished position of a spot: the median of its neighbours. Without neighbours it stays."""
    return median(heights[other] for other in near) if near else heights[spot]


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


#: Least and greatest gap between two layers. In between, it is the rise of the steepest line divided by
#: ``STEEPNESS``.
GAP_MIN, GAP_MAX, STEEPNESS = 44.0, 150.0, 5.0
#: Length of a line that stays visible beside a label in the gap.
LABEL_ROOM = 56.0


class Column(Struct, frozen=True):
    """Horizontal position of a layer. Its boxes are ``box_width`` wide, except frames."""

    strip: int
    left: float
    width: float
    box_width: float

    @property
    def right(self) -> float:
        return self.left + self.width


def columns(
    chart: Chart, mesh: Mesh, layers: Sequence[Sequence[int]], heights: Sequence[float]
) -> Iterator[Column]:
    cells = [[chart.cells[spot] for spot in layer if spot < len(chart.cells)] for layer in layers]
    widths = [max((cell.width for cell in each), default=0.0) for each in cells]
    gaps = list(_gaps(mesh, layers, heights))
    room = [width + gap for width, gap in zip(widths, gaps, strict=True)]
    left, strip = 0.0, 0
    for at, number in enumerate(strips(mesh, layers, room, max(heights) - min(heights))):
        left, strip = (left if number == strip else 0.0), number
        box_width = max((cell.width for cell in cells[at] if len(cell.nodes) == 1), default=0.0)
        yield Column(strip, left, widths[at], box_width)
        left += room[at]


def _gaps(mesh: Mesh, layers: Sequence[Sequence[int]], heights: Sequence[float]) -> Iterator[float]:
    """Yield the gap to the right of each layer."""
    labels: dict[int, float] = {}
    for link, way in mesh.ways.items():
        if link.label:
            labels[way[-2]] = max(labels.get(way[-2], 0.0), text_width(link.label) + LABEL_ROOM)
    for layer in layers:
        rise = max(
            (abs(heights[spot] - heights[other]) for spot in layer for other in mesh.after[spot]), default=0.0
        )
        steep = min(max(GAP_MIN, rise / STEEPNESS), GAP_MAX)
        yield max([steep, *(labels.get(spot, 0.0) for spot in layer)])


#: Width up to which a drawing is not cut.
WIDTH_MAX = 2200.0
#: Approximate ratio of the width to the height of all strips together.
SHAPE = 1.6
#: Estimated distance between two strips.
BETWEEN = 60.0
#: Greatest distance of a cut from its ideal place, at which all strips have the same width, as a part of that
#: width.
LEEWAY = 0.3
#: Greatest number of lines that may pass a cut. If more lines pass, the drawing is not cut there.
PASSING_MAX = 12


def strips(mesh: Mesh, layers: Sequence[Sequence[int]], widths: Sequence[float], height: float) -> list[int]:
    """Return the strip of each layer. ``widths`` is the room that each layer takes, ``height`` the height of the uncut
    drawing.
    """
    width = sum(widths)
    count = round(sqrt(width / (SHAPE * (height + BETWEEN)))) if width > WIDTH_MAX else 1
    ends = list(accumulate(widths))
    passing = [sum(len(mesh.after[spot]) for spot in layer) for layer in layers]
    wishes = [width * number / count for number in range(1, count)]
    cuts = {_cut(wish, LEEWAY * width / count, ends, passing) for wish in wishes}
    return [sum(layer > cut for cut in cuts if passing[cut] <= PASSING_MAX) for layer in range(len(layers))]


def _cut(wish: float, leeway: float, ends: Sequence[float], passing: Sequence[int]) -> int:
    """Return the layer to cut after. It is near to the wished place, and few lines pass there."""
    by_distance = sorted(range(len(ends)), key=lambda layer: abs(ends[layer] - wish))
    near = [layer for layer in by_distance if abs(ends[layer] - wish) <= leeway]
    return min(near or by_distance[:1], key=passing.__getitem__)
