"""What the definitions alone say: none of these commands opens a ledger."""

from typing import Any
from xml.etree import ElementTree

import pytest

from tests.ops.typist import Typist

FETCHES = [["fetch", "20261120_graz"], ["fetch", "20261120_oslo"]]
ANSWERS: list[tuple[str, Any]] = [
    ("parents report 2026-11-20", [{"group": "default", "jobs": FETCHES}]),
    ("parents fetch 20261120_oslo", []),
    ("children fetch 2026-11-20_oslo", [["report", "20261120"]]),
    ("children mail 20261120", []),
    ("apps check", {"apps": ["fetch", "report", "publish", "mail", "nap", "wake"]}),
]


@pytest.mark.parametrize(("words", "answer"), ANSWERS)
def test_the_relation_is_told_without_a_ledger(offline: Typist, words: str, answer: Any) -> None:
    assert offline.asks(*words.split()) == answer


def test_people_get_tables(offline: Typist) -> None:
    said = offline.types("parents", "report", "20261120")
    assert [line.split() for line in said.out.splitlines()] == [
        ["group", "app", "key", "must", "have"],
        *(["default", *job, "succeeded"] for job in FETCHES),
    ]


def test_apps_are_shown_parents_first(offline: Typist) -> None:
    shown = offline.asks("apps", "show")
    assert [app["app"] for app in shown] == ["fetch", "nap", "report", "wake", "publish", "mail"]
    assert {"job_id", "job_type", "parents", "children", "identifiers", "policy"} <= shown[0].keys()
    assert offline.asks("apps", "show", "publish")["parents"] == [{"group": "default", "apps": ["report"]}]


def test_the_graph_of_the_apps_is_drawn_in_every_format(offline: Typist) -> None:
    graph = offline.asks("graph", "report")
    assert [node["id"] for node in graph["nodes"]] == ["fetch", "report", "publish", "mail"]
    assert [(edge["from"], edge["to"]) for edge in graph["edges"]] == [
        ("fetch", "report"),
        ("report", "publish"),
        ("publish", "mail"),
    ]
    assert offline.types("graph").out.startswith("graph TD\n")
    assert offline.types("graph", "--format", "dot").out.startswith("digraph sluice {\n")
    assert offline.asks("graph", "--format", "svg", "-o", "apps.svg") == {
        "file": "apps.svg",
        "nodes": 6,
        "edges": 4,
    }
    ElementTree.fromstring((offline.folder / "apps.svg").read_text())
