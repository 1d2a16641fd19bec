"""Layered drawing of a chart, in the usual steps."""

from sluice.ops.graph.chart import Chart
from sluice.ops.graph.layering import layers
from sluice.ops.graph.mesh import weave
from sluice.ops.graph.ordering import order
from sluice.ops.graph.placing import place
from sluice.ops.graph.routing import route
from sluice.ops.graph.sheet import Sheet

#: Gap between two cells of a layer, and height that a bend takes in a layer.
GAP, BEND = 12.0, 9.0


def lay_out(chart: Chart) -> Sheet:
    mesh = weave(chart, layers(chart))
    ordered = order(mesh)
    halves = [(cell.height + GAP) / 2 for cell in chart.cells] + [BEND / 2] * mesh.bends
    heights = place(mesh, ordered, halves, len(chart.cells))
    return route(chart, mesh, ordered, heights)
