"""Graph as an SVG picture."""

from sluice.ops.graph.layout.chart import charts
from sluice.ops.graph.layout.layout import lay_out
from sluice.ops.graph.model import Graph
from sluice.ops.graph.render.legend import legend
from sluice.ops.graph.render.paper import pack
from sluice.ops.graph.render.stylesheet import stylesheet
from sluice.ops.graph.render.svg_elements import ARROWS, drawn, escaped

MARGIN = 18.0


def as_svg(graph: Graph) -> str:
    """Draw a graph. The text depends on the graph alone."""
    sheets = [lay_out(chart) for chart in charts(graph)]
    paper, above = pack(sheets), legend(graph)
    top = MARGIN + above.height + (MARGIN if above.parts else 0.0)
    width, height = max(paper.width, above.width) + 2 * MARGIN, top + paper.height + MARGIN
    states = {node.state for node in graph.nodes if node.state is not None}
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        f"<title>{escaped(graph.title)}</title>",
        f"<style>{stylesheet(states)}</style>",
        ARROWS,
        '<rect class="paper" width="100%" height="100%"/>',
        f'<g transform="translate({MARGIN},{MARGIN})">',
        *above.parts,
        "</g>",
    ]
    for sheet, (x, y) in zip(sheets, paper.corners, strict=True):
        parts.append(f'<g transform="translate({MARGIN + x + sheet.indent:.1f},{top + y:.1f})">')
        parts += [*drawn(sheet, graph.focus), "</g>"]
    return "\n".join([*parts, "</svg>"])
