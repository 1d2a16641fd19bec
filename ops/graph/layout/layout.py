"""Layered drawing of a chart, in the usual steps."""

from sluice.ops.graph.layout.chart import Chart
from sluice.ops.graph.layout.coordinates import place
from sluice.ops.graph.layout.layers import layers
from sluice.ops.graph.layout.mesh import weave
from sluice.ops.graph.layout.order import order
from sluice.ops.graph.layout.routes import route
from sluice.ops.graph.layout.sheet import Sheet

#: Gap between two cells of a layer, and height that a bend takes in a layer.
GAP, BEND = 12.0, 9.0


def lay_out(chart: Chart) -> Sheet:
    mesh = weave(chart, layers(chart))
    ordered = order(mesh)
    halves = [(cell.height + GAP) / 2 for cell in chart.cells] + [BEND / 2] * mesh.bends
    heights = place(mesh, ordered, halves, len(chart.cells))
    return route(chart, mesh, ordered, heights)
