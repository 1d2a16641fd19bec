"""The content of pictures and of the text formats for other programs: complete, legible, and in the right colours."""

from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest
from hypothesis import given
from msgspec.structs import replace

from sluice.jobs.states import State
from sluice.ledger.reads.job_details import kinship
from sluice.ops.graph.app_graph import app_graph
from sluice.ops.graph.equal_jobs import folded
from sluice.ops.graph.job_graph import job_graph
from sluice.ops.graph.model import Edge, Graph, Node
from sluice.ops.graph.render.stylesheet import colour
from sluice.ops.graph.render.svg import as_svg
from sluice.ops.graph.text_formats import as_document, as_dot, as_mermaid
from tests.ops.pictures import arrows, graphs
from tests.world import World, catalogue_of

SVG = "{http://www.w3.org/2000/svg}"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
NASTY = Graph(
    (Node("greet", '"<hi>"', State.FAILED, NOON), Node("back", "\\slash\x1b#1", State.RUNNING)),
    (Edge('greet/"<hi>"', "back/\\slash\x1b#1", "a & b", "failed"),),
)


def texts(graph: Graph, kind: str = "text") -> list[str]:
    root = ElementTree.fromstring(as_svg(graph))
    return [element.text or "" for element in root.iter(f"{SVG}{kind}")]


@given(graphs())
def test_every_app_is_named_once(graph: Graph) -> None:
    shown = texts(graph)
    assert sorted(text for text in shown if text.startswith("app_")) == sorted(
        node.app for node in graph.nodes
    )


def test_names_are_quoted_in_every_format() -> None:
    assert {'"<hi>"', "\\slash\N{REPLACEMENT CHARACTER}#1", "a & b: failed"} <= set(texts(NASTY))
    assert r'-> "back/\\slash' in as_dot(NASTY)
    assert r'"greet/\"<hi>\"" ->' in as_dot(NASTY)
    assert '[label="a & b: failed", style=dashed];' in as_dot(NASTY)
    assert 'n0["greet/#quot;&lt;hi&gt;#quot;<br/>failed"]' in as_mermaid(NASTY)
    assert 'n0 -.->|"a &amp; b: failed"| n1' in as_mermaid(NASTY)


def test_the_document_has_all_fields_of_nodes_and_edges() -> None:
    document = as_document(NASTY)
    assert document["nodes"][0] == {  # type: ignore[index] # it is plain data
        "id": 'greet/"<hi>"',
        "label": 'greet/"<hi>"',
        "app": "greet",
        "key": '"<hi>"',
        "state": "failed",
        "since": NOON,
    }
    assert document["edges"] == [
        {
            "from": 'greet/"<hi>"',
            "to": "back/\\slash\x1b#1",
            "group": "a & b",
            "when": "failed",
            "added": False,
        }
    ]


def test_a_state_has_its_colour_in_every_picture() -> None:
    for node in NASTY.nodes:
        for picture in (as_svg(NASTY), as_dot(NASTY), as_mermaid(NASTY)):
            assert colour(node.state).light in picture
        assert colour(node.state).dark in as_svg(NASTY)


def test_tooltips_have_the_details_of_jobs_and_edges() -> None:
    tips = texts(NASTY, "title")
    assert 'greet/"<hi>"\nfailed since 2026-11-20 12:00:00 UTC' in tips
    assert 'greet/"<hi>" → back/\\slash\N{REPLACEMENT CHARACTER}#1: a & b: failed' in tips


def test_added_dependencies_have_lines_of_their_own_in_every_picture() -> None:
    graph = Graph((Node("a"), Node("b"), Node("c")), (Edge("a", "b", added=True), Edge("b", "c")))
    root = ElementTree.fromstring(as_svg(graph))
    lines = [each.get("class") for each in root.iter(f"{SVG}path") if "line" in each.get("class", "")]
    assert lines == ["line added", "line"]
    assert "dotted lines lead to jobs that a job has added" in texts(graph)
    assert "n0 ==> n1" in as_mermaid(graph)
    assert '"a" -> "b" [style=dotted];' in as_dot(graph)
    assert [edge["added"] for edge in as_document(graph)["edges"]] == [True, False]  # type: ignore[attr-defined] # it is plain data


def test_the_legend_counts_the_states() -> None:
    graph = folded(
        replace(arrows(", ".join(f"a/{key} -> end" for key in range(9)), state=State.READY), title="nine")
    )
    assert texts(graph)[:3] == ["nine", "10 ready", "Equal jobs are drawn as one; --all draws each."]


def test_equal_jobs_are_drawn_as_one() -> None:
    text = ", ".join(f"fetch/{key} -> clean/{key} -> report" for key in range(10, 30))
    graph = arrows(text, state=State.SUCCEEDED)
    states = {"clean/13": State.FAILED, "report/0": State.WAITING}
    graph = replace(
        graph, nodes=tuple(replace(node, state=states.get(node.id, node.state)) for node in graph.nodes)
    )
    found = folded(graph)
    assert {(node.app, node.key, node.state, node.count) for node in found.nodes} == {
        ("fetch", "10 … 29", "succeeded", 19),
        ("clean", "10 … 29", "succeeded", 19),
        ("fetch", "13", "succeeded", 1),
        ("clean", "13", "failed", 1),
        ("report", "0", "waiting", 1),
    }
    assert len(found.edges) == 4
    assert "fetch \N{MULTIPLICATION SIGN}19" in texts(found)


def test_different_or_few_jobs_are_drawn_one_by_one() -> None:
    chain = arrows(" -> ".join(f"roll/{day}" for day in range(30)), state=State.SUCCEEDED)
    assert folded(chain) == chain
    few = arrows(", ".join(f"a/{key} -> end" for key in range(6)), state=State.READY)
    assert folded(few) == few


def test_the_focused_job_is_never_folded() -> None:
    graph = arrows(", ".join(f"a/{key} -> end" for key in range(9)), state=State.READY)
    found = folded(replace(graph, focus="a/4"))
    assert [node.key for node in found.nodes if node.app == "a"] == ["0 … 8", "4"]


WORDS = {"job_id": "{n}", "bash_cmd": "true"}


def test_an_app_is_drawn_with_its_upstream_and_downstream_apps() -> None:
    needs = {"b": ["a"], "c": ["b"], "side": ["a"]}
    apps = {
        name: WORDS | ({"depends_on": {"app_name": needs[name]}} if name in needs else {})
        for name in ("a", "b", "c", "side", "alone")
    }
    graph = app_graph(catalogue_of(apps), "b")
    assert [node.id for node in graph.nodes] == ["a", "b", "c"]
    assert graph.edges == (Edge("a", "b"), Edge("b", "c"))
    assert graph.focus == "b"


def test_external_tables_are_drawn_before_the_apps_that_read_them() -> None:
    reading = {"partition": "day", "bash_cmd": "true", "table_dependencies": [{"table": "events"}]}
    graph = app_graph(catalogue_of({"joined": reading, "alone": WORDS}), "joined")
    assert [(node.id, node.is_table) for node in graph.nodes] == [("table events", True), ("joined", False)]
    assert graph.edges == (Edge("table events", "joined"),)
    assert "table events" in texts(graph)
    assert "table events" in as_mermaid(graph)


def test_pairs_of_apps_of_which_one_adds_jobs_of_the_other_have_lines_of_their_own() -> None:
    catalogue = catalogue_of(
        {"unpack": WORDS, "a_piece": WORDS, "packed": WORDS | {"depends_on": {"app_name": ["unpack"]}}}
    )
    graph = app_graph(catalogue, None, [("unpack", "a_piece"), ("unpack", "packed"), ("unpack", "gone")])
    assert [node.id for node in graph.nodes] == ["unpack", "a_piece", "packed"]
    assert set(graph.edges) == {Edge("unpack", "a_piece", added=True), Edge("unpack", "packed")}


def test_added_jobs_of_an_upstream_app_do_not_change_the_order() -> None:
    catalogue = catalogue_of({"a": WORDS, "b": WORDS | {"depends_on": {"app_name": ["a"]}}})
    graph = app_graph(catalogue, None, [("b", "a")])
    assert [node.id for node in graph.nodes] == ["a", "b"]
    assert set(graph.edges) == {Edge("a", "b"), Edge("b", "a", added=True)}
    assert texts(graph)


def test_alternatives_are_named_on_edges_with_lines_of_their_own() -> None:
    groups = {"fast": {"app_name": ["a"]}, "slow": {"app_name": ["b"], "when": "failed"}}
    graph = app_graph(catalogue_of({"a": WORDS, "b": WORDS, "c": WORDS | {"depends_on": groups}}), None)
    assert graph.edges == (Edge("a", "c", "fast"), Edge("b", "c", "slow", "failed"))
    root = ElementTree.fromstring(as_svg(graph))
    lines = [each.get("class") for each in root.iter(f"{SVG}path") if "line" in each.get("class", "")]
    assert lines == ["line alternative0", "line alternative1"]


def test_a_live_graph_has_the_upstream_and_downstream_jobs(world: World) -> None:
    world.apps("a -> b, b -> c, x -> c, a -> side")
    world.submit("c")
    world.finish("a")
    name = world.known("b").name
    found = world.ledger.transact(lambda tx: kinship(tx, name))
    assert found is not None
    graph = job_graph(found)
    assert [(node.id, node.state) for node in graph.nodes] == [
        ("a/1", "succeeded"),
        ("b/1", "ready"),
        ("c/1", "waiting"),
    ]
    assert graph.edges == (Edge("a/1", "b/1"), Edge("b/1", "c/1"))
    assert (graph.title, graph.note) == ("b/1 as of 2026-01-01 00:00:00 UTC", "")


def test_a_large_live_graph_is_cut_with_a_note(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sluice.ledger.reads.job_details.JOBS_MAX", 2)
    world.apps(", ".join(f"a{number} -> c" for number in range(5)))
    world.submit("c")
    name = world.known("c").name
    found = world.ledger.transact(lambda tx: kinship(tx, name))
    assert found is not None
    assert len(found.jobs) == 3
    assert job_graph(found).note == "Only the nearest 2 upstream jobs are drawn."


def test_dependency_functions_may_form_a_circle_of_apps() -> None:
    by = {"_func": "tests.ops.test_graph:Neighbours"}
    apps = {
        "roll": WORDS | {"depends_on": by | {"app_name": ["roll"]}},
        "ping": WORDS | {"depends_on": by | {"app_name": ["pong"]}},
        "pong": WORDS | {"depends_on": {"app_name": ["ping"]}},
        "free": WORDS | {"depends_on": by},
    }
    graph = app_graph(catalogue_of(apps), None)
    assert set(graph.edges) == {Edge("roll", "roll"), Edge("ping", "pong"), Edge("pong", "ping")}
    assert [node.id for node in graph.nodes if node.loops] == ["roll"]
    assert graph.note == "A two-way function determines further parents of free."
    assert {"ping", "pong", "roll \N{CLOCKWISE OPEN CIRCLE ARROW}"} <= set(texts(graph))
    assert [node.id for node in app_graph(catalogue_of(apps), "roll").nodes] == ["roll"]


class Neighbours:
    """Two-way function that these tests do not call."""

    @staticmethod
    def parents(app: str, ids: object) -> list[object]:
        return []

    @staticmethod
    def children(app: str, ids: object) -> list[object]:
        return []
