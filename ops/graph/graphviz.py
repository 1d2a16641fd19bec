"""A chart laid out by Graphviz, where that is installed."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence

from sluice.ops.graph.cards import FONT_SIZE
from sluice.ops.graph.chart import Chart
from sluice.ops.graph.sheet import Box, Line, Sheet

#: It takes minutes for what has thousands of edges; ours takes seconds.
PATIENCE_S = 20.0
#: What is smaller looks the same either way, and is not worth a process.
CELLS_MIN = 8
#: It puts a chain in one line and a fan in one column, whatever their length; then ours is better.
SHAPE_MAX, SIDE_MAX = 6.0, 3000.0

#: Its unit is the inch.
_INCH = 72.0
Point = tuple[float, float]


def graphviz_sheet(chart: Chart) -> Sheet | None:
    """None where it is not there, takes too long, or makes something that nobody can read."""
    program = shutil.which("dot")
    if program is None or len(chart.cells) < CELLS_MIN:
        return None
    try:
        drawn = subprocess.run(
            [program, "-Tplain"],
            input=_dot(chart),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    if not drawn.stdout.startswith("graph "):
        return None
    sheet = _sheet(chart, [line.split() for line in drawn.stdout.splitlines()])
    short, long = sorted((sheet.width, sheet.height))
    return None if long > max(SIDE_MAX, SHAPE_MAX * short) else sheet


def _dot(chart: Chart) -> str:
    lines = [
        "digraph {",
        "rankdir=LR; ranksep=0.6; nodesep=0.2;",
        'node [shape=box, fixedsize=true, label=""];',
        f"edge [dir=none, fontsize={FONT_SIZE}];",
    ]
    for number, cell in enumerate(chart.cells):
        lines.append(f"{number} [width={cell.width / _INCH:.3f}, height={cell.height / _INCH:.3f}];")
    for link in chart.links:
        # Where the label's text would have to be quoted, as many other letters take the same room.
        lines.append(f'{link.left} -> {link.right} [label="{"x" * len(link.label)}"];')
    return "\n".join([*lines, "}"])


def _sheet(chart: Chart, words: Sequence[Sequence[str]]) -> Sheet:
    """Lines of its plain format: ``graph scale width height``, ``node name x y …``, ``edge tail head n x1 y1 …``."""
    width, height = (float(word) * _INCH for word in words[0][2:4])
    boxes: dict[int, Box] = {}
    ways: dict[tuple[int, int], Line] = {}
    for kind, *rest in words[1:]:
        if kind == "node":
            cell = chart.cells[int(rest[0])]
            ((x, y),) = _points(rest[1:3], height)
            boxes[int(rest[0])] = Box(x - cell.width / 2, y - cell.height / 2, cell.width, cell.height)
        elif kind == "edge":
            count = int(rest[2])
            points = [*_points(rest[3 : 3 + 2 * count], height)]
            label = (
                [*_points(rest[4 + 2 * count : 6 + 2 * count], height)] if len(rest) > 5 + 2 * count else []
            )
            ways[int(rest[0]), int(rest[1])] = _line(points, label)
    lines = {link: ways[link.left, link.right] for link in chart.links}
    return Sheet(chart, width, height, 0.0, tuple(boxes[cell] for cell in range(len(chart.cells))), lines)


def _line(points: Sequence[Point], label: Sequence[Point]) -> Line:
    start, *curves = (f"{x:.1f},{y:.1f}" for x, y in points)
    return Line(f"M{start} C{' '.join(curves)}", label[0] if label else points[0])


def _points(words: Sequence[str], height: float) -> Iterator[Point]:
    """It counts from below."""
    for x, y in zip(words[::2], words[1::2], strict=True):
        yield float(x) * _INCH, height - float(y) * _INCH
