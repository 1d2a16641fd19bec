"""Input of the layout: boxes with their text, and the links between them.

Each connected part of a graph has a chart of its own. Nodes with the same parents and the same children share a frame
and one link if there are at least ``FRAMED_MIN``: 200 parents of one report are a block and an arrow, not a fan.

The text in a node's box determines the size of the box (``Card``). All letters have the same width, so that every text
fits its box, whichever font displays it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, sqrt
from unicodedata import east_asian_width

from msgspec import Struct
from msgspec.structs import replace

from sluice.ops.graph.model import Edge, Graph, Node

#: Least number of nodes in a frame. Nodes without any link form a frame if there are at least two.
FRAMED_MIN = 6
#: Approximate ratio of the width of a frame to its height.
FRAME_SHAPE = 1.3
FRAME_GAP = 8.0


class Cell(Struct, frozen=True):
    """One node, or a frame with several nodes in ``columns``, read from top to bottom."""

    nodes: tuple[Node, ...]
    columns: int
    card_width: float
    card_height: float

    @property
    def rows(self) -> int:
        return ceil(len(self.nodes) / self.columns)

    @property
    def is_frame(self) -> bool:
        return len(self.nodes) > 1

    @property
    def margin(self) -> float:
        return FRAME_GAP if self.is_frame else 0.0

    @property
    def width(self) -> float:
        return self.columns * (self.card_width + FRAME_GAP) - FRAME_GAP + 2 * self.margin

    @property
    def height(self) -> float:
        return self.rows * (self.card_height + FRAME_GAP) - FRAME_GAP + 2 * self.margin


class CellLink(Struct, frozen=True, order=True):
    """All edges between two cells, given by their places in the chart: ``left`` is less than ``right``.

    With ``is_back`` the arrow leads to the left; otherwise the links would form a cycle. ``label`` has the unusual
    properties of the edges. ``group`` is the first of the alternatives that they belong to. With ``added``, jobs have
    added all of the dependencies.
    """

    left: int
    right: int
    is_back: bool
    label: str = ""
    group: str = ""
    added: bool = False

    @property
    def parent(self) -> int:
        return self.right if self.is_back else self.left

    @property
    def child(self) -> int:
        return self.left if self.is_back else self.right


class Chart(Struct, frozen=True):
    """Connected part of a graph."""

    cells: tuple[Cell, ...]
    links: tuple[CellLink, ...]


def charts(graph: Graph) -> list[Chart]:
    """Return the connected parts of a graph, in the order of their first nodes."""
    cells = _cells(graph)
    number = {node.id: place for place, cell in enumerate(cells) for node in cell.nodes}
    links = [*_links(graph.edges, number)]
    return [_part(members, cells, links) for members in _parts(len(cells), links)]


def _cells(graph: Graph) -> list[Cell]:
    """Return the nodes in their order. Nodes that have the same neighbours on both sides are in one cell."""
    above, below = defaultdict(set), defaultdict(set)
    for edge in graph.edges:
        above[edge.target].add(replace(edge, target=""))
        below[edge.source].add(replace(edge, source=""))
    alike: dict[object, list[Node]] = defaultdict(list)
    for node in graph.nodes:
        neighbours = (frozenset(above[node.id]), frozenset(below[node.id]))
        alike[neighbours if any(neighbours) else None].append(node)
    frames = {nodes[0].id: nodes for key, nodes in alike.items() if key is None or len(nodes) >= FRAMED_MIN}
    inside = {node.id for nodes in frames.values() for node in nodes[1:]}
    return [_cell(frames.get(node.id, [node])) for node in graph.nodes if node.id not in inside]


def _cell(nodes: Sequence[Node]) -> Cell:
    cards = [card(node) for node in nodes]
    width, height = max(each.width for each in cards), max(each.height for each in cards)
    columns = ceil(sqrt(len(nodes) * FRAME_SHAPE * (height + FRAME_GAP) / (width + FRAME_GAP)))
    return Cell(tuple(nodes), min(columns, len(nodes)), width, height)


def _links(edges: Iterable[Edge], number: Mapping[str, int]) -> Iterator[CellLink]:
    """Yield the links. The order of the nodes decides which end is left, so that there is no cycle, whichever edges
    exist.
    """
    joined: dict[tuple[int, int], set[Edge]] = defaultdict(set)
    for edge in edges:
        if edge.source != edge.target:
            joined[number[edge.source], number[edge.target]].add(edge)
    for (source, target), alike in sorted(joined.items()):
        labels = sorted({edge.label for edge in alike if edge.label})
        ends = (min(source, target), max(source, target))
        group, added = min(edge.group for edge in alike), all(edge.added for edge in alike)
        yield CellLink(*ends, source > target, ", ".join(labels), group, added)


def _parts(count: int, links: Iterable[CellLink]) -> Iterator[list[int]]:
    near = defaultdict(list)
    for link in links:
        near[link.left].append(link.right)
        near[link.right].append(link.left)
    seen: set[int] = set()
    for start in range(count):
        ahead, part = [start], []
        while ahead:
            number = ahead.pop()
            if number not in seen:
                seen.add(number)
                part.append(number)
                ahead += near[number]
        if part:
            yield sorted(part)


def _part(members: Sequence[int], cells: Sequence[Cell], links: Iterable[CellLink]) -> Chart:
    place = {number: at for at, number in enumerate(members)}
    inside = [
        replace(link, left=place[link.left], right=place[link.right]) for link in links if link.left in place
    ]
    return Chart(tuple(cells[number] for number in members), tuple(inside))


FONT_SIZE, CHAR_WIDTH, LINE_HEIGHT, PADDING = 11, 6.65, 15.0, 8.0
#: Greatest length of a text. A longer text is cut in its middle; the tooltip has all of it.
CHARS_MAX = 44


class Card(Struct, frozen=True):
    """Texts of a box: ``head`` in the first line, ``state`` to its right, and ``key`` in the second line."""

    head: str
    state: str
    key: str

    @property
    def width(self) -> float:
        above = " ".join(filter(None, (self.head, self.state)))
        return max(text_width(above), text_width(self.key)) + 2 * PADDING

    @property
    def height(self) -> float:
        return LINE_HEIGHT * (2 if self.key else 1) + PADDING


def card(node: Node) -> Card:
    return Card(_cut(node.head), node.state or "", _cut(node.key or ""))


def text_width(text: str) -> float:
    return CHAR_WIDTH * sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def _cut(text: str) -> str:
    half = CHARS_MAX // 2
    return text if len(text) <= CHARS_MAX else f"{text[:half]}…{text[-half:]}"
