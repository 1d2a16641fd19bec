"""A graph as an SVG picture: by Graphviz where it is installed, else by our own layout."""

import html
import shutil
import subprocess
from collections.abc import Iterator

from msgspec import Struct

from ops.graph.graph import Edge, Graph, Node
from ops.graph.layout import Layout, Spot, lay_out
from ops.graph.written import as_dot

#: Graphviz takes minutes for what has thousands of edges; ours takes seconds and looks worse.
GRAPHVIZ_S_MAX = 20.0

MARGIN, GAP, PADDING = 16.0, 56.0, 10.0
CHAR_WIDTH, LINE_HEIGHT, ROW_GAP = 6.6, 14.0, 10.0
#: A label longer than this is cut; the whole of it shows when pointed at.
LABEL_CHARS_MAX = 60

_LINE = 'stroke="#888888" stroke-width="1.2"'
_ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0,0 L8,4 L0,8 z" fill="#888888"/></marker></defs>'
)


def as_svg(graph: Graph) -> str:
    return _by_graphviz(graph) or draw(graph)


class Column(Struct, frozen=True):
    """Where one layer is drawn."""

    left: float
    width: float

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def middle(self) -> float:
        return self.left + self.width / 2


def draw(graph: Graph) -> str:
    """The picture by our own layout."""
    layout = lay_out(graph)
    sheet = Sheet(graph, layout)
    parts = [_ARROW, '<rect width="100%" height="100%" fill="white"/>']
    parts += [part for edge in graph.edges for part in sheet.edge(edge)]
    parts += [part for node in graph.nodes for part in sheet.box(node)]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{sheet.width:.0f}" height="{sheet.height:.0f}"'
        f' viewBox="0 0 {sheet.width:.0f} {sheet.height:.0f}" font-family="sans-serif" font-size="11">'
    )
    return "\n".join([head, *parts, "</svg>"])


class Sheet:
    """Turns layers and rows into places on paper."""

    def __init__(self, graph: Graph, layout: Layout) -> None:
        self._layout = layout
        texts = {node.id: _texts(node) for node in graph.nodes}
        self._box_height = LINE_HEIGHT * max(map(len, texts.values()), default=1) + PADDING
        self._columns = list(_columns(layout, texts))
        self._column_of = {
            spot: column for layer, column in zip(layout.layers, self._columns, strict=True) for spot in layer
        }
        self.width = (self._columns[-1].right if self._columns else 0.0) + MARGIN
        rows = max(layout.heights.values(), default=0.0)
        self.height = rows * self._row + self._box_height + 2 * MARGIN

    def box(self, node: Node) -> Iterator[str]:
        """The node's box, with its label and its state."""
        column, middle = self._column_of[node.id], self._y(node.id)
        texts = _texts(node)
        yield f"<g><title>{html.escape(': '.join(filter(None, (node.label, node.state))))}</title>"
        yield (
            f'<rect x="{column.left:.1f}" y="{middle - self._box_height / 2:.1f}" width="{column.width:.1f}"'
            f' height="{self._box_height:.1f}" rx="5" fill="{node.colour}" stroke="#666666"/>'
        )
        first = middle - LINE_HEIGHT * (len(texts) - 1) / 2 + 4
        for place, text in enumerate(texts):
            y = first + LINE_HEIGHT * place
            yield f'<text x="{column.middle:.1f}" y="{y:.1f}" text-anchor="middle">{html.escape(text)}</text>'
        yield "</g>"

    def edge(self, edge: Edge) -> Iterator[str]:
        """From the right side of the parent, level through the layers between, to the left side of the child."""
        source, *bends, target = self._layout.ways[edge]
        x, y = self._column_of[source].right, self._y(source)
        path = [f"M{x:.1f},{y:.1f}"]
        for spot in [*bends, target]:
            column, there = self._column_of[spot], self._y(spot)
            half = (x + column.left) / 2
            path.append(f"C{half:.1f},{y:.1f} {half:.1f},{there:.1f} {column.left:.1f},{there:.1f}")
            label = (half, (y + there) / 2)
            x, y = (column.right, there)
            if spot != target:
                path.append(f"L{x:.1f},{y:.1f}")
        yield f'<path d="{" ".join(path)}" fill="none" {_LINE} marker-end="url(#arrow)"/>'
        if edge.group:
            yield (
                f'<text x="{label[0]:.1f}" y="{label[1] - 3:.1f}" text-anchor="middle" font-size="9"'
                f' fill="#666666" stroke="white" stroke-width="3" paint-order="stroke">{html.escape(edge.group)}</text>'
            )

    @property
    def _row(self) -> float:
        return self._box_height + ROW_GAP

    def _y(self, spot: Spot) -> float:
        """The middle of the row it is in."""
        return MARGIN + self._box_height / 2 + self._layout.heights[spot] * self._row


def _columns(layout: Layout, texts: dict[str, list[str]]) -> Iterator[Column]:
    left = MARGIN
    for layer in layout.layers:
        chars = [len(text) for spot in layer if isinstance(spot, str) for text in texts[spot]]
        column = Column(left, max(chars, default=0) * CHAR_WIDTH + 2 * PADDING)
        yield column
        left = column.right + GAP


def _texts(node: Node) -> list[str]:
    label = node.label
    if len(label) > LABEL_CHARS_MAX:
        label = f"{label[: LABEL_CHARS_MAX // 2]}…{label[-LABEL_CHARS_MAX // 2 :]}"
    return [label, str(node.state)] if node.state else [label]


def _by_graphviz(graph: Graph) -> str | None:
    """None where it is not installed, or takes too long."""
    program = shutil.which("dot")
    if program is None:
        return None
    try:
        drawn = subprocess.run(
            [program, "-Tsvg"],
            input=as_dot(graph),
            capture_output=True,
            text=True,
            timeout=GRAPHVIZ_S_MAX,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return drawn.stdout
