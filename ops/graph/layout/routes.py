"""Boxes and lines on paper, from layers and vertical positions.

A line runs level through a layer, between the boxes, and bends between two layers, where there are no boxes. So it
meets no box except at its ends. If the drawing is cut into strips, lines that pass the cut turn around the end of
the strip, run back below it and enter the next strip at the left. They keep their order, so they do not cross on
the way.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from sluice.ops.graph.layout.chart import Chart
from sluice.ops.graph.layout.coordinates import Column, columns
from sluice.ops.graph.layout.mesh import Mesh
from sluice.ops.graph.layout.sheet import Box, DrawnLine, Sheet

#: Distance between two lines that run back side by side, and radius of their corners.
LANE, CORNER = 7.0, 6.0
#: Distance between these lines and everything else.
MARGIN = 16.0

#: Position of a label on the last curve, horizontally and vertically, before lines to the same child meet.
LABEL = (0.42, 0.35)

Point = tuple[float, float]
#: Two spots in adjacent layers that a line joins.
Hop = tuple[int, int]


class Spot(Struct, frozen=True):
    """Box of a cell in its column. The box of a bend has no height and is as wide as the column."""

    box: Box
    column: Column


class Turn(Struct, frozen=True):
    """Coordinates at which a line that passes a cut turns: at the right, at the bottom and at the left."""

    right: float
    down: float
    left: float


def route(chart: Chart, mesh: Mesh, layers: Sequence[Sequence[int]], heights: Sequence[float]) -> Sheet:
    across = list(columns(chart, mesh, layers, heights))
    spots: dict[int, Spot] = {}
    turns: dict[Hop, Turn] = {}
    width = bottom = top = 0.0
    for number in range(across[-1].strip + 1):
        members = [
            (column, layer) for column, layer in zip(across, layers, strict=True) if column.strip == number
        ]
        strip = dict(_stand(chart, members, heights, top))
        right = max(column.right for column, _ in members)
        bottom = max(spot.box.bottom for spot in strip.values())
        is_last = number == across[-1].strip
        hops = [] if is_last else _hops(mesh, members[-1][1], heights)
        turns.update(_turns(hops, right + MARGIN, bottom + MARGIN))
        spots.update(strip)
        width = max(width, right + (MARGIN + LANE * len(hops) if hops else 0.0))
        top = bottom + 2 * MARGIN + LANE * len(hops)
    indent = max((-turn.left for turn in turns.values()), default=0.0)
    lines = {link: _line(way, spots, turns) for link, way in mesh.ways.items()}
    boxes = tuple(spots[cell].box for cell in range(len(chart.cells)))
    return Sheet(chart, indent + width, bottom, indent, boxes, lines)


def _stand(
    chart: Chart, members: Sequence[tuple[Column, Sequence[int]]], heights: Sequence[float], top: float
) -> Iterator[tuple[int, Spot]]:
    """Yield the spots of one strip. The uppermost spot is at ``top``."""
    half = {
        spot: chart.cells[spot].height / 2 if spot < len(chart.cells) else 0.0
        for _, layer in members
        for spot in layer
    }
    highest = min(heights[spot] - half[spot] for spot in half)
    for column, layer in members:
        for spot in layer:
            y = top + heights[spot] - half[spot] - highest
            width = column.width
            if spot < len(chart.cells):
                width = chart.cells[spot].width if chart.cells[spot].is_frame else column.box_width
            x = column.left + (column.width - width) / 2
            yield spot, Spot(Box(x, y, width, 2 * half[spot]), column)


def _hops(mesh: Mesh, layer: Sequence[int], heights: Sequence[float]) -> list[Hop]:
    """Return the hops from the last layer of a strip, from the top down."""
    hops = [(spot, other) for spot in layer for other in mesh.after[spot]]
    return sorted(hops, key=lambda hop: (heights[hop[0]], heights[hop[1]]))


def _turns(hops: Sequence[Hop], right: float, down: float) -> Iterator[tuple[Hop, Turn]]:
    """Yield the turns. The uppermost line is outermost at the right, lowest at the bottom, and innermost at
    the left.
    """
    for place, hop in enumerate(hops):
        outside, inside = LANE * (len(hops) - 1 - place), LANE * place
        yield hop, Turn(right + outside, down + outside, -MARGIN - inside)


def _line(way: Sequence[int], spots: Mapping[int, Spot], turns: Mapping[Hop, Turn]) -> DrawnLine:
    here = spots[way[0]]
    path = [f"M{_point(here.box.right, here.box.middle)}"]
    for hop in pairwise(way):
        here, there = (spots[spot] for spot in hop)
        start, end = (here.column.right, here.box.middle), (there.column.left, there.box.middle)
        path.append(f"L{_point(*start)}")
        if hop in turns:
            path += _round(start, turns[hop], end)
            label = (end[0] - MARGIN / 2, end[1])
        else:
            half = (start[0] + end[0]) / 2
            path.append(f"C{_point(half, start[1])} {_point(half, end[1])} {_point(*end)}")
            label = (_between(start[0], end[0], LABEL[0]), _between(start[1], end[1], LABEL[1]))
        path.append(f"L{_point(there.box.x, end[1])}")
    return DrawnLine(" ".join(path), label)


def _between(start: float, end: float, share: float) -> float:
    return start + share * (end - start)


def _round(start: Point, turn: Turn, end: Point) -> Iterator[str]:
    """Yield the path around the end of one strip and into the next strip."""
    corners = [(turn.right, start[1]), (turn.right, turn.down), (turn.left, turn.down), (turn.left, end[1])]
    for (x0, y0), (x, y), (x1, y1) in zip([start, *corners], corners, [*corners[1:], end], strict=False):
        yield f"L{_point(_toward(x, x0), _toward(y, y0))}"
        yield f"Q{_point(x, y)} {_point(_toward(x, x1), _toward(y, y1))}"
    yield f"L{_point(*end)}"


def _toward(place: float, goal: float) -> float:
    return place + min(max(goal - place, -CORNER), CORNER)


def _point(x: float, y: float) -> str:
    return f"{x:.1f},{y:.1f}"
