"""Layout of a graph in numbers, for clients that draw it themselves. All numbers are pixels at natural size."""

import re
from collections.abc import Iterator

from msgspec import Struct

from sluice.ops.graph.layout.chart import Cell, card, charts
from sluice.ops.graph.layout.layout import lay_out
from sluice.ops.graph.layout.sheet import Box, Sheet, places_in
from sluice.ops.graph.model import Graph, Node
from sluice.ops.graph.render.paper import pack

MARGIN = 18.0
_POINT = re.compile(r"(-?[\d.]+),(-?[\d.]+)")


class Placed(Struct, frozen=True):
    """Node and its box. ``head`` and ``key`` are its texts, shortened to fit the box."""

    node: Node
    box: Box
    head: str
    key: str


class Frame(Struct, frozen=True):
    """Box around nodes with the same parents and the same children."""

    x: float
    y: float
    width: float
    height: float
    nodes: tuple[str, ...]


class Way(Struct, frozen=True):
    """Line from parents to children. Either side is one node, or all nodes of a frame. ``path`` is an SVG path from
    left to right. With ``is_back`` its arrow is at the left end. With ``added``, jobs have added the dependencies.
    """

    parents: tuple[str, ...]
    children: tuple[str, ...]
    path: str
    label: str
    label_x: float
    label_y: float
    is_back: bool
    added: bool


class Laid(Struct, frozen=True):
    width: float
    height: float
    nodes: tuple[Placed, ...]
    frames: tuple[Frame, ...]
    ways: tuple[Way, ...]
    note: str


def laid(graph: Graph) -> Laid:
    """Lay out a graph. The result depends on the graph alone, not on the machine."""
    sheets = [lay_out(chart) for chart in charts(graph)]
    paper = pack(sheets)
    corners = [
        (MARGIN + x + sheet.indent, MARGIN + y) for sheet, (x, y) in zip(sheets, paper.corners, strict=True)
    ]
    there = list(zip(sheets, corners, strict=True))
    return Laid(
        width=round(paper.width + 2 * MARGIN, 1),
        height=round(paper.height + 2 * MARGIN, 1),
        nodes=tuple(each for sheet, corner in there for each in _nodes(sheet, corner)),
        frames=tuple(each for sheet, corner in there for each in _frames(sheet, corner)),
        ways=tuple(each for sheet, corner in there for each in _ways(sheet, corner)),
        note=graph.note,
    )


def _nodes(sheet: Sheet, corner: tuple[float, float]) -> Iterator[Placed]:
    for cell, box in zip(sheet.chart.cells, sheet.boxes, strict=True):
        for node, own in places_in(cell, box):
            written = card(node)
            yield Placed(node, _moved(own, corner), written.head, written.key)


def _frames(sheet: Sheet, corner: tuple[float, float]) -> Iterator[Frame]:
    for cell, box in zip(sheet.chart.cells, sheet.boxes, strict=True):
        if cell.is_frame:
            at = _moved(box, corner)
            yield Frame(at.x, at.y, at.width, at.height, _ids(cell))


def _ways(sheet: Sheet, corner: tuple[float, float]) -> Iterator[Way]:
    cells = sheet.chart.cells
    for link, line in sheet.lines.items():
        parents, children = _ids(cells[link.parent]), _ids(cells[link.child])
        x, y = line.label
        at = (round(x + corner[0], 1), round(y + corner[1], 1))
        yield Way(parents, children, _shifted(line.path, corner), link.label, *at, link.is_back, link.added)


def _ids(cell: Cell) -> tuple[str, ...]:
    return tuple(node.id for node in cell.nodes)


def _moved(box: Box, corner: tuple[float, float]) -> Box:
    return Box(
        round(box.x + corner[0], 1), round(box.y + corner[1], 1), round(box.width, 1), round(box.height, 1)
    )


def _shifted(path: str, corner: tuple[float, float]) -> str:
    return _POINT.sub(lambda at: f"{float(at[1]) + corner[0]:.1f},{float(at[2]) + corner[1]:.1f}", path)
