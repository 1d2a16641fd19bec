"""Layout of a picture: nothing overlaps, and lines lead from left to right around the boxes."""

from itertools import combinations

import pytest
from hypothesis import given

from sluice.ops.graph.layout.chart import charts
from sluice.ops.graph.layout.layout import lay_out
from sluice.ops.graph.layout.sheet import Box, Sheet
from sluice.ops.graph.model import Edge, Graph, Node
from sluice.ops.graph.render.paper import pack
from sluice.ops.graph.render.svg import as_svg
from tests.ops.pictures import arrows, graphs, inside, overlap, points

CHAIN = arrows(" -> ".join(f"step_{number:03}" for number in range(200)))


def sheets(graph: Graph) -> list[Sheet]:
    return [lay_out(chart) for chart in charts(graph)]


def box_of(sheet: Sheet, app: str) -> Box:
    cells = zip(sheet.chart.cells, sheet.boxes, strict=True)
    return next(box for cell, box in cells if app in {node.app for node in cell.nodes})


def look_at(sheet: Sheet) -> None:
    assert not [pair for pair in combinations(sheet.boxes, 2) if overlap(*pair)]
    for link, line in sheet.lines.items():
        way = list(points(line.path))
        left, right = sheet.boxes[link.left], sheet.boxes[link.right]
        assert way[0] == pytest.approx((left.right, left.middle), abs=0.1)
        assert way[-1] == pytest.approx((right.x, right.middle), abs=0.1)
        assert not [point for point in way for box in sheet.boxes if inside(box, point)]
        assert all(-sheet.indent <= x <= sheet.width and y >= -0.1 for x, y in way)
    assert all(box.x >= 0 and box.y >= -0.1 and box.bottom <= sheet.height + 0.1 for box in sheet.boxes)


@given(graphs())
def test_boxes_lines_and_sheets_do_not_overlap(graph: Graph) -> None:
    found = sheets(graph)
    assert sorted(node.id for sheet in found for cell in sheet.chart.cells for node in cell.nodes) == sorted(
        node.id for node in graph.nodes
    )
    for sheet in found:
        look_at(sheet)
        assert all(sheet.boxes[link.left].right < sheet.boxes[link.right].x for link in sheet.chart.links)
    corners = pack(found).corners
    papers = [Box(*corner, sheet.width, sheet.height) for corner, sheet in zip(corners, found, strict=True)]
    assert not [pair for pair in combinations(papers, 2) if overlap(*pair)]


@given(graphs(nodes_max=8, circles=True))
def test_circles_can_be_drawn(graph: Graph) -> None:
    for sheet in sheets(graph):
        look_at(sheet)


@given(graphs())
def test_a_picture_is_the_same_every_time(graph: Graph) -> None:
    again = Graph(graph.nodes, graph.edges[::-1])
    assert as_svg(again) == as_svg(graph)


def test_a_long_chain_is_cut_into_strips() -> None:
    (sheet,) = sheets(CHAIN)
    look_at(sheet)
    assert sheet.width < 2.5 * sheet.height
    assert len({box.y for box in sheet.boxes}) > 10


def test_nodes_with_the_same_neighbours_share_a_frame_and_a_line() -> None:
    graph = arrows(", ".join(f"part_{number:03} -> report -> mail" for number in range(200)))
    (sheet,) = sheets(graph)
    assert [len(cell.nodes) for cell in sheet.chart.cells] == [200, 1, 1]
    assert len(sheet.lines) == 2
    assert sheet.width < 3 * sheet.height < 9 * sheet.width


def test_nodes_without_neighbours_form_a_block() -> None:
    alone = Graph(tuple(Node(f"app_{number:03}") for number in range(150)), ())
    (sheet,) = sheets(alone)
    assert sheet.width < 3 * sheet.height < 9 * sheet.width


def test_many_short_branches_form_several_columns() -> None:
    (sheet,) = sheets(arrows(", ".join(f"a_{number:03} -> b_{number:03} -> end" for number in range(100))))
    look_at(sheet)
    assert sheet.height < 2.5 * sheet.width


def test_a_parent_is_next_to_its_nearest_child() -> None:
    (sheet,) = sheets(arrows("a -> b -> c -> d, late -> d"))
    assert box_of(sheet, "late").x == box_of(sheet, "c").x


def test_lines_from_one_parent_share_their_way() -> None:
    (sheet,) = sheets(arrows("a -> b -> c -> d -> e, a -> d, a -> e"))
    to_d, to_e = (
        line.path for link, line in sheet.lines.items() if (link.left, link.right) in {(0, 3), (0, 4)}
    )
    assert to_e.startswith(to_d[: to_d.rindex("C")])


def test_several_edges_between_two_boxes_are_one_line() -> None:
    graph = Graph((Node("a"), Node("b")), (Edge("a", "b", "fast"), Edge("a", "b", "slow", "failed")))
    (sheet,) = sheets(graph)
    assert [link.label for link in sheet.lines] == ["fast, slow: failed"]
