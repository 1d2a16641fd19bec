"""Pictures: everything is on them, nothing lies on anything else, and edges lead from left to right."""

from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from jobs.states import State
from ops.graph.apps import app_graph
from ops.graph.graph import Edge, Graph, Node
from ops.graph.layout import lay_out
from ops.graph.svg import draw
from ops.graph.written import as_document, as_dot, as_mermaid
from tests.world import catalogue_of

NASTY = Graph(
    (Node('say "<hi>"', 'say "<hi>"', State.FAILED), Node("back\\slash", "back\\slash", State.RUNNING)),
    (Edge('say "<hi>"', "back\\slash", "a & b"),),
)


@st.composite
def graphs(draw_: st.DrawFn) -> Graph:
    """Edges lead to nodes further down the list, so there is no circle."""
    count = draw_(st.integers(0, 12))
    pairs = [(source, target) for source in range(count) for target in range(source + 1, count)]
    chosen = draw_(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    nodes = tuple(Node(str(number), f"job {number}") for number in range(count))
    return Graph(nodes, tuple(Edge(str(source), str(target)) for source, target in chosen))


@given(graphs())
def test_a_layout_has_room_for_everything(graph: Graph) -> None:
    layout = lay_out(graph)
    places = {spot: place for place, layer in enumerate(layout.layers) for spot in layer}
    assert {node.id for node in graph.nodes} <= places.keys()
    for edge in graph.edges:
        way = layout.ways[edge]
        assert (way[0], way[-1]) == (edge.source, edge.target)
        assert all(places[right] == places[left] + 1 for left, right in pairwise(way))
    for layer in layout.layers:
        heights = [layout.heights[spot] for spot in layer]
        assert all(lower - upper > 1 - 1e-6 for upper, lower in pairwise(heights))
        assert all(height >= 0 for height in heights)


@given(graphs())
def test_a_picture_is_sound_whatever_the_graph(graph: Graph) -> None:
    root = ElementTree.fromstring(draw(graph))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == [node.label for node in graph.nodes]


def test_names_are_quoted_in_every_format() -> None:
    root = ElementTree.fromstring(draw(NASTY))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["a & b", 'say "<hi>"', "failed", "back\\slash", "running"]
    assert r'"say \"<hi>\"" -> "back\\slash" [label="a & b"];' in as_dot(NASTY)
    assert 'n0["say &quot;&lt;hi&gt;&quot;<br/>failed"]' in as_mermaid(NASTY)
    assert 'n0 -->|"a &amp; b"| n1' in as_mermaid(NASTY)
    assert as_document(NASTY)["edges"] == [{"from": 'say "<hi>"', "to": "back\\slash", "group": "a & b"}]


def test_a_state_has_its_colour_in_every_picture() -> None:
    (dead, running) = (node.colour for node in NASTY.nodes)
    for picture in (draw(NASTY), as_dot(NASTY), as_mermaid(NASTY)):
        assert dead in picture
        assert running in picture


def test_an_app_is_drawn_with_everything_above_and_below_it() -> None:
    words = {"job_id": "{n}", "bash_cmd": "true"}
    needs = {"b": ["a"], "c": ["b"], "side": ["a"]}
    apps = {
        name: words | ({"depends_on": {"app_name": needs[name]}} if name in needs else {})
        for name in ("a", "b", "c", "side", "alone")
    }
    graph = app_graph(catalogue_of(apps), "b")
    assert [node.id for node in graph.nodes] == ["a", "b", "c"]
    assert graph.edges == (Edge("a", "b"), Edge("b", "c"))


def test_alternatives_are_named_on_the_edges() -> None:
    words = {"job_id": "{n}", "bash_cmd": "true"}
    groups = {"fast": {"app_name": ["a"]}, "slow": {"app_name": ["b"]}}
    graph = app_graph(catalogue_of({"a": words, "b": words, "c": words | {"depends_on": groups}}), None)
    assert graph.edges == (Edge("a", "c", "fast"), Edge("b", "c", "slow"))
