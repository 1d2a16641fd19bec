"""Several sheets on one piece of paper."""

from collections.abc import Sequence
from math import sqrt

from msgspec import Struct

from sluice.ops.graph.layout.sheet import Sheet

#: Approximate ratio of the width of the paper to its height.
SHAPE = 1.6
GAP = 28.0


class Paper(Struct, frozen=True):
    """Paper with sheets. ``corners`` has the upper left corner of each sheet."""

    width: float
    height: float
    corners: tuple[tuple[float, float], ...]


def pack(sheets: Sequence[Sheet]) -> Paper:
    """Put the sheets on shelves, the highest sheets first. Sheets of equal height keep their order."""
    area = sum((sheet.width + GAP) * (sheet.height + GAP) for sheet in sheets)
    width_max = max(sqrt(area * SHAPE), *(sheet.width for sheet in sheets), 0.0)
    corners: dict[int, tuple[float, float]] = {}
    x = y = width = below = 0.0
    for place in sorted(range(len(sheets)), key=lambda place: -round(sheets[place].height)):
        sheet = sheets[place]
        if x + sheet.width > width_max and x:
            x, y = 0.0, below
        corners[place] = (x, y)
        width, below = max(width, x + sheet.width), max(below, y + sheet.height + GAP)
        x += sheet.width + GAP
    return Paper(width, max(below - GAP, 0.0), tuple(corners[place] for place in range(len(sheets))))
