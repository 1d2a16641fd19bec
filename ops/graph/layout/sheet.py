"""Chart with a layout."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from sluice.ops.graph.layout.chart import FRAME_GAP, Cell, CellLink, Chart
from sluice.ops.graph.model import Node


class Box(Struct, frozen=True):
    """Rectangle. ``x`` and ``y`` are its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


class DrawnLine(Struct, frozen=True):
    """Line of a link. ``path`` is an SVG path from left to right. ``label`` is the middle of the label."""

    path: str
    label: tuple[float, float]


class Sheet(Struct, frozen=True):
    """Positions of the cells of a chart, in their order, and of the lines. ``indent`` is how far anything extends to
    the left of 0. Nothing is above 0.
    """

    chart: Chart
    width: float
    height: float
    indent: float
    boxes: tuple[Box, ...]
    lines: Mapping[CellLink, DrawnLine]


def places_in(cell: Cell, box: Box) -> Iterator[tuple[Node, Box]]:
    """Yield each node of a cell with its own box. Nodes are in columns, read from top to bottom."""
    if not cell.is_frame:
        yield cell.nodes[0], box
        return
    for number, node in enumerate(cell.nodes):
        column, row = divmod(number, cell.rows)
        x = box.x + cell.margin + column * (cell.card_width + FRAME_GAP)
        y = box.y + cell.margin + row * (cell.card_height + FRAME_GAP)
        yield node, Box(x, y, cell.card_width, cell.card_height)
