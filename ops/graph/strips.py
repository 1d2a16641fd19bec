"""A drawing that is much wider than high is cut into strips, which are read like lines of text."""

from collections.abc import Sequence
from itertools import accumulate
from math import sqrt

from sluice.ops.graph.mesh import Mesh

#: Up to this width nothing is cut.
WIDTH_MAX = 2200.0
#: All strips together are about so much wider than high.
SHAPE = 1.6
#: What lies between two of them, for the sake of a guess.
BETWEEN = 60.0
#: A cut may be so far from where all strips would be of one width, as a part of that width.
LEEWAY = 0.3
#: Where more lines would have to turn round, nothing is cut.
PASSING_MAX = 12


def strips(mesh: Mesh, layers: Sequence[Sequence[int]], widths: Sequence[float], height: float) -> list[int]:
    """The strip that each layer is in. ``widths`` is how much room each takes, ``height`` what all take uncut."""
    width = sum(widths)
    count = round(sqrt(width / (SHAPE * (height + BETWEEN)))) if width > WIDTH_MAX else 1
    ends = list(accumulate(widths))
    passing = [sum(len(mesh.after[spot]) for spot in layer) for layer in layers]
    wishes = [width * number / count for number in range(1, count)]
    cuts = {_cut(wish, LEEWAY * width / count, ends, passing) for wish in wishes}
    return [sum(layer > cut for cut in cuts if passing[cut] <= PASSING_MAX) for layer in range(len(layers))]


def _cut(wish: float, leeway: float, ends: Sequence[float], passing: Sequence[int]) -> int:
    """The layer to cut after: few lines pass there, and it is not far from the wish."""
    by_distance = sorted(range(len(ends)), key=lambda layer: abs(ends[layer] - wish))
    near = [layer for layer in by_distance if abs(ends[layer] - wish) <= leeway]
    return min(near or by_distance[:1], key=passing.__getitem__)
