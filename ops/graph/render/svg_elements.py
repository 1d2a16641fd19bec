"""Boxes, lines and texts of one sheet as SVG.

Users' texts in a picture are escaped (``escaped``).
"""

import html
from collections import defaultdict
from collections.abc import Iterable, Iterator

from sluice.ops.graph.layout.chart import LINE_HEIGHT, PADDING, Cell, CellLink, card
from sluice.ops.graph.layout.sheet import Box, Sheet, places_in
from sluice.ops.graph.model import Node
from sluice.ops.graph.render.stylesheet import DASHES
from sluice.ops.text import legible, moment

#: Distance from the upper end of a line of text to its baseline.
BASE = 11.0
#: Offset of the second box behind a node for many jobs, which makes it look like a pile.
PILE = 3.0

_HEAD = (
    'viewBox="0 0 8 8" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"'
)
ARROWS = (
    f'<defs><marker id="there" refX="8" {_HEAD}><path class="arrow" d="M0,0 8,4 0,8z"/></marker>'
    f'<marker id="back" refX="0" {_HEAD}><path class="arrow" d="M8,0 0,4 8,8z"/></marker></defs>'
)


def drawn(sheet: Sheet, focus: str) -> Iterator[str]:
    """Yield the SVG of a sheet. The node with the ID ``focus`` is emphasized."""
    dashes = dict(_dashes(sheet.chart.links))
    for link in sheet.lines:
        yield from _line(sheet, link, dashes.get(link, ""))
    for link, line in sheet.lines.items():
        x, y = line.label
        if link.label:
            yield f'<text class="label" x="{x:.1f}" y="{y + 4:.1f}">{escaped(link.label)}</text>'
    for cell, box in zip(sheet.chart.cells, sheet.boxes, strict=True):
        yield from _cell(cell, box, focus)


def _dashes(links: Iterable[CellLink]) -> Iterator[tuple[CellLink, str]]:
    """Yield the CSS class of each link that belongs to an alternative. Lines to one child look alike if they are in
    one dependency group.
    """
    groups: dict[int, dict[str, int]] = defaultdict(dict)
    for link in links:
        if link.added:
            yield link, " added"
        elif link.group:
            known = groups[link.child]
            place = known.setdefault(link.group, len(known))
            yield link, f" alternative{place % len(DASHES)}"


def _line(sheet: Sheet, link: CellLink, dash: str) -> Iterator[str]:
    """Yield a line. A wide invisible line below it makes it easy to point at."""
    line, cells = sheet.lines[link], sheet.chart.cells
    parent, child = (_told(cells[end]) for end in (link.parent, link.child))
    arrow = 'marker-start="url(#back)"' if link.is_back else 'marker-end="url(#there)"'
    yield f"<g><title>{escaped(': '.join(filter(None, (f'{parent} → {child}', link.label))))}</title>"
    yield f'<path class="hit" d="{line.path}"/><path class="line{dash}" d="{line.path}" {arrow}/></g>'


def _cell(cell: Cell, box: Box, focus: str) -> Iterator[str]:
    if cell.is_frame:
        yield f'<rect class="frame" {_rect(box)} rx="8"/>'
    for node, own in places_in(cell, box):
        yield from _node(node, own, focus)


def _node(node: Node, box: Box, focus: str) -> Iterator[str]:
    look = f"box {node.state or ''}{' focus' if node.id == focus else ''}"
    yield f"<g><title>{escaped(*_tip(node))}</title>"
    if node.count > 1:
        yield f'<rect class="{look}" {_rect(Box(box.x + PILE, box.y + PILE, box.width, box.height))} rx="4"/>'
    yield f'<rect class="{look}" {_rect(box)} rx="4"/>'
    written, left, right = card(node), box.x + PADDING, box.right - PADDING
    upper = box.y + PADDING / 2 + BASE
    yield f'<text class="head" x="{left:.1f}" y="{upper:.1f}">{escaped(written.head)}</text>'
    if written.state:
        yield f'<text class="state" x="{right:.1f}" y="{upper:.1f}">{written.state}</text>'
    if written.key:
        yield f'<text x="{left:.1f}" y="{upper + LINE_HEIGHT:.1f}">{escaped(written.key)}</text>'
    yield "</g>"


def _tip(node: Node) -> list[str]:
    """Return all details of a node, for its tooltip."""
    lines = [node.id if node.count == 1 else f"{node.count} jobs of {node.app}: {node.key}"]
    if node.state:
        lines.append(f"{node.state} since {moment(node.since)} UTC" if node.since else node.state)
    return lines


def _told(cell: Cell) -> str:
    return f"{len(cell.nodes)} in a frame" if cell.is_frame else cell.nodes[0].id


def _rect(box: Box) -> str:
    return f'x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'


def escaped(*lines: str) -> str:
    """Escape lines for XML. Unprintable characters are replaced by a visible character, because XML forbids some of
    them.
    """
    return "\n".join(html.escape(legible(line)) for line in lines)
