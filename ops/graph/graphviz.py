"""Layout of a chart by Graphviz, if it is installed."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence

from sluice.ops.graph.layout.chart import FONT_SIZE, Chart
from sluice.ops.graph.layout.sheet import Box, DrawnLine, Sheet

#: Seconds after which Graphviz is ended. It takes minutes for thousands of edges; our own layout takes seconds.
PATIENCE_S = 20.0
#: Least number of cells for Graphviz. Smaller charts look the same either way and are not worth a process.
CELLS_MIN = 8
#: Limits on the ratio of the sides and on the longer side. Graphviz puts a chain in one line and a fan in one
#: column, whatever their length. Beyond both limits our own layout is better.
SHAPE_MAX, SIDE_MAX = 6.0, 3000.0

#: Points per inch. Graphviz measures in inches.
_INCH = 72.0
Point = tuple[float, float]


def graphviz_sheet(chart: Chart) -> Sheet | None:
    """Return the layout. None if Graphviz is missing, fails, takes too long, or makes an unreadable picture."""
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
        # The label would need quoting. The same number of other letters takes the same room.
        lines.append(f'{link.left} -> {link.right} [label="{"x" * len(link.label)}"];')
    return "\n".join([*lines, "}"])


def _sheet(chart: Chart, words: Sequence[Sequence[str]]) -> Sheet:
    """Convert Graphviz's plain format.

    Its lines are ``graph scale width height``, ``node name x y …`` and ``edge tail head n x1 y1 …``.
    """
    width, height = (float(word) * _INCH for word in words[0][2:4])
    boxes: dict[int, Box] = {}
    ways: dict[tuple[int, int], DrawnLine] = {}
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


def _line(points: Sequence[Point], label: Sequence[Point]) -> DrawnLine:
    start, *curves = (f"{x:.1f},{y:.1f}" for x, y in points)
    return DrawnLine(f"M{start} C{' '.join(curves)}", label[0] if label else points[0])


def _points(words: Sequence[str], height: float) -> Iterator[Point]:
    """Yield the points. Graphviz counts from below."""
    for x, y in zip(words[::2], words[1::2], strict=True):
        yield float(x) * _INCH, height - float(y) * _INCH
