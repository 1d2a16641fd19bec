"""Width of each layer, and its distance from the next layer."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from sluice.ops.graph.cards import text_width
from sluice.ops.graph.chart import Chart
from sluice.ops.graph.mesh import Mesh
from sluice.ops.graph.strips import strips

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
