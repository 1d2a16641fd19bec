"""Layer of each cell: to the right of all cells that it needs, and as near to its neighbours as that allows.

The height of a layer is limited. Cells without room in it go further to the left, a whole branch at a time. So a
hundred short branches are in several columns, and not in a single endless column.
"""

from collections import defaultdict
from math import sqrt

from sluice.ops.graph.layout.chart import Chart

#: Height that every layer may have: about two screens.
HEIGHT_MIN = 1600.0
#: Approximate ratio of width to height of a picture that needs more than ``HEIGHT_MIN``.
SHAPE = 1.5
#: Estimated distances between two cells, horizontally and vertically.
BETWEEN = (60.0, 12.0)


def layers(chart: Chart) -> list[int]:
    """Return the layer of each cell, counted from the left."""
    parents, children = defaultdict(list), defaultdict(list)
    for link in chart.links:
        parents[link.right].append(link.left)
        children[link.left].append(link.right)
    shelves = _Shelves(chart)
    _fill_from_the_right(len(chart.cells), shelves, parents, children)
    _draw_to_the_left(shelves, parents, children)
    last = max(shelves.place)
    return [last - place for place in shelves.place]


class _Shelves:
    """Layers during the layout, counted from the right."""

    def __init__(self, chart: Chart) -> None:
        area = sum((cell.width + BETWEEN[0]) * (cell.height + BETWEEN[1]) for cell in chart.cells)
        self._height_max = max(HEIGHT_MIN, sqrt(area / SHAPE))
        self._heights = [cell.height + BETWEEN[1] for cell in chart.cells]
        self._filled: dict[int, float] = defaultdict(float)
        self.place = [-1] * len(chart.cells)

    def has_room(self, place: int, cell: int) -> bool:
        filled = self._filled[place]
        return not filled or filled + self._heights[cell] <= self._height_max

    def put(self, cell: int, place: int) -> None:
        if self.place[cell] >= 0:
            self._filled[self.place[cell]] -= self._heights[cell]
        self._filled[place] += self._heights[cell]
        self.place[cell] = place


def _fill_from_the_right(
    count: int, shelves: _Shelves, parents: dict[int, list[int]], children: dict[int, list[int]]
) -> None:
    """Put each cell just left of its children, and complete a branch before the next branch begins."""
    missing = [len(children[cell]) for cell in range(count)]
    ahead = [cell for cell in reversed(range(count)) if not missing[cell]]
    while ahead:
        cell = ahead.pop()
        place = 1 + max((shelves.place[child] for child in children[cell]), default=-1)
        while not shelves.has_room(place, cell):
            place += 1
        shelves.put(cell, place)
        for parent in reversed(parents[cell]):
            missing[parent] -= 1
            if not missing[parent]:
                ahead.append(parent)


def _draw_to_the_left(
    shelves: _Shelves, parents: dict[int, list[int]], children: dict[int, list[int]]
) -> None:
    """Move each cell with more parents than children to just right of its parents."""
    for cell in sorted(parents, key=lambda cell: -shelves.place[cell]):
        if len(parents[cell]) > len(children[cell]):
            nearest, here = min(shelves.place[parent] for parent in parents[cell]) - 1, shelves.place[cell]
            better = (place for place in range(nearest, here, -1) if shelves.has_room(place, cell))
            shelves.put(cell, next(better, here))
