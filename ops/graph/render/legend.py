"""Text above a picture: its subject, the number of jobs in each state, and the omitted parts."""

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct

from sluice.jobs.states import State
from sluice.ops.graph.layout.chart import FONT_SIZE, text_width
from sluice.ops.graph.model import Graph
from sluice.ops.graph.render.stylesheet import TITLE_SIZE
from sluice.ops.graph.render.svg_elements import escaped

LINE_HEIGHT, BASE = 20.0, 12.0
SWATCH, GAP = 11.0, 18.0
#: Width after which a line of counts is broken.
WIDTH_MAX = 700.0


class LegendEntry(Struct, frozen=True):
    """Text in the legend. ``name`` is its CSS class. If there is a ``state``, its colour comes before the text."""

    text: str
    name: str = ""
    state: State | None = None

    @property
    def width(self) -> float:
        scale = TITLE_SIZE / FONT_SIZE if self.name == "title" else 1.0
        return self.indent + scale * text_width(self.text)

    @property
    def indent(self) -> float:
        return SWATCH + 5 if self.state else 0.0


class Legend(Struct, frozen=True):
    """Legend of a picture. ``parts`` are SVG, from 0 down."""

    width: float
    height: float
    parts: tuple[str, ...]


def legend(graph: Graph) -> Legend:
    lines = list(_lines(graph))
    width = max((sum(entry.width + GAP for entry in line) - GAP for line in lines), default=0.0)
    parts = [part for number, line in enumerate(lines) for part in _drawn(line, number * LINE_HEIGHT)]
    return Legend(width, len(lines) * LINE_HEIGHT, tuple(parts))


def _lines(graph: Graph) -> Iterator[list[LegendEntry]]:
    if graph.title:
        yield [LegendEntry(graph.title, "title")]
    yield from _broken(_counts(graph))
    if any(edge.group for edge in graph.edges):
        yield [LegendEntry("dashed lines are alternatives", "faint")]
    if any(edge.added for edge in graph.edges):
        yield [LegendEntry("dotted lines lead to jobs that a job has added", "faint")]
    if graph.note:
        yield [LegendEntry(graph.note, "faint")]


def _counts(graph: Graph) -> Iterator[LegendEntry]:
    """Yield the states and their counts, in the order of a job's life."""
    counts = Counter[State]()
    for node in graph.nodes:
        if node.state is not None:
            counts[node.state] += node.count
    yield from (LegendEntry(f"{counts[state]} {state}", state=state) for state in State if state in counts)


def _broken(entries: Iterable[LegendEntry]) -> Iterator[list[LegendEntry]]:
    line: list[LegendEntry] = []
    for entry in entries:
        if line and sum(each.width + GAP for each in line) + entry.width > WIDTH_MAX:
            yield line
            line = []
        line.append(entry)
    if line:
        yield line


def _drawn(line: Iterable[LegendEntry], y: float) -> Iterator[str]:
    x = 0.0
    for entry in line:
        if entry.state:
            place = f'x="{x:.1f}" y="{y + 2:.1f}" width="{SWATCH}" height="{SWATCH}"'
            yield f'<rect class="box {entry.state}" {place} rx="2"/>'
        place = f'x="{x + entry.indent:.1f}" y="{y + BASE:.1f}"'
        yield f'<text class="{entry.name}" {place}>{escaped(entry.text)}</text>'
        x += entry.width + GAP
