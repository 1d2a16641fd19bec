"""Graphs to draw, and geometric checks of the drawings."""

import re
from collections.abc import Iterator, Sequence
from graphlib import TopologicalSorter
from itertools import chain, pairwise

from hypothesis import strategies as st

from sluice.jobs.states import State
from sluice.ops.graph.layout.sheet import Box
from sluice.ops.graph.model import Edge, Graph, Node

Point = tuple[float, float]
STEPS = 6


@st.composite
def graphs(draw: st.DrawFn, *, nodes_max: int = 14, circles: bool = False) -> Graph:
    """Draw a graph. Its edges lead to later nodes of the list, or to any node with ``circles``."""
    count = draw(st.integers(0, nodes_max))
    pairs = [(a, b) for a in range(count) for b in range(count) if circles or a < b]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    groups = st.sampled_from(["", "", "fast", "slow"])
    edges = tuple(Edge(f"app_{a}", f"app_{b}", draw(groups)) for a, b in chosen)
    return Graph(tuple(Node(f"app_{number}") for number in range(count)), edges)


def arrows(text: str, *, state: State | None = None) -> Graph:
    """Return the graph of ``"a -> b -> c, a -> c"``. With a state, each word is a job: ``fetch/1 -> report``. Default
    key: 0.
    """
    ways = [[_node(word, state) for word in part.split("->")] for part in text.split(",")]
    sorter = TopologicalSorter({node: () for way in ways for node in way})
    for parent, child in chain.from_iterable(map(pairwise, ways)):
        sorter.add(child, parent)
    edges = {Edge(parent.id, child.id) for way in ways for parent, child in pairwise(way)}
    return Graph(tuple(sorter.static_order()), tuple(sorted(edges)))


def _node(word: str, state: State | None) -> Node:
    app, _, key = word.strip().partition("/")
    return Node(app, key or "0", state) if state else Node(app)


def overlap(one: Box, other: Box) -> bool:
    return (
        min(one.right, other.right) - max(one.x, other.x) > 0.2
        and min(one.bottom, other.bottom) - max(one.y, other.y) > 0.2
    )


def inside(box: Box, point: Point) -> bool:
    """Return whether a point is inside a box, at least 1 from its border. A line may touch the box where it ends."""
    x, y = point
    return box.x + 1 < x < box.right - 1 and box.y + 1 < y < box.bottom - 1


def points(path: str) -> Iterator[Point]:
    """Yield points along an SVG path of M, L, C and Q, close to each other."""
    here: Point = (0.0, 0.0)
    for command, words in re.findall(r"([MLCQ])([^MLCQ]*)", path):
        numbers = [float(word) for word in re.findall(r"-?[\d.]+", words)]
        given = list(zip(numbers[::2], numbers[1::2], strict=True))
        if command == "M":
            here = given.pop()
            yield here
        size = {"M": 1, "L": 1, "Q": 2, "C": 3}[command]
        for start in range(0, len(given), size):
            controls = [here, *given[start : start + size]]
            yield from (_on_curve(controls, step / STEPS) for step in range(1, STEPS + 1))
            here = controls[-1]


def _on_curve(controls: Sequence[Point], share: float) -> Point:
    """Return the point at this share of a Bézier curve of any degree, by repeated interpolation (de Casteljau)."""
    while len(controls) > 1:
        controls = [
            (x0 + share * (x1 - x0), y0 + share * (y1 - y0)) for (x0, y0), (x1, y1) in pairwise(controls)
        ]
    return controls[0]
