"""Strips of a drawing that is much wider than it is high. They are read like lines of text."""

from collections.abc import Sequence
from itertools import accumulate
from math import sqrt

from sluice.ops.graph.mesh import Mesh

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
