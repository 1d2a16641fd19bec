"""Commands that read nothing but the definitions. None of them opens a ledger."""

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
def test_parents_and_children_are_listed_without_a_ledger(offline: Typist, words: str, answer: Any) -> None:
    assert offline.asks(*words.split()) == answer


def test_a_redundant_dependency_is_a_remark_of_apps_check(offline: Typist) -> None:
    app = {"job_id": "{x}", "bash_cmd": "true"}
    clean, mail = (app | {"depends_on": {"app_name": needs}} for needs in (["fetch"], ["fetch", "clean"]))
    offline.apps("redundant.json", {"fetch": app, "clean": clean, "mail": mail})
    words = ("--apps", "redundant.json", "apps", "check")
    assert offline.asks(*words)["redundant"] == [
        {"app": "mail", "parent": "fetch", "path": ["mail", "clean", "fetch"]}
    ]
    said = offline.types(*words)
    assert (said.code, said.out.splitlines()[0]) == (0, "3 apps, no faults.")
    assert "mail need not depend on fetch" in said.out


FUNCTIONS = """
from sluice import app

@app(job_id="{date}")
def report(job, day, until=None, *, since):
    pass

@app(job_id="{date}")
def fetch(date):
    pass

@app(job_id="{date}", job_type="saga")
def trip(flight, client):
    return []
"""


def test_a_parameter_that_the_key_lacks_is_a_remark_of_apps_check(offline: Typist) -> None:
    (offline.folder / "outside.py").write_text(FUNCTIONS)
    words = ("--apps", "outside.py", "apps", "check")
    assert offline.asks(*words)["parameters"] == [
        {"app": "report", "key": "{date}", "parameters": ["day"]},
        {"app": "trip", "key": "{date}", "parameters": ["client"]},
    ]
    said = offline.types(*words)
    assert "function of report requires day, and its key {date} has no such identifier" in said.out


def test_parents_are_printed_as_a_table(offline: Typist) -> None:
    said = offline.types("parents", "report", "20261120")
    assert [line.split() for line in said.out.splitlines()] == [
        ["group", "app", "key", "must", "have"],
        *(["default", *job, "succeeded"] for job in FETCHES),
    ]


NONE = [
    ("parents fetch 20261120_oslo", "fetch/20261120_oslo needs no other job: fetch has no depends_on."),
    (
        "parents wake 7",
        "wake/7 fits none of the groups of wake; submit refuses it.\n  group default is for n 0, 1",
    ),
    ("children mail 20261120", "No job needs mail/20261120: no app depends on mail."),
    ("children nap 7", "No job needs nap/7: other jobs of nap are needed by wake, but this job is not."),
]


@pytest.mark.parametrize(("words", "answer"), NONE)
def test_an_empty_result_is_printed_with_its_reason(offline: Typist, words: str, answer: str) -> None:
    said = offline.types(*words.split())
    assert (said.code, said.out.strip()) == (0, answer)
    assert offline.asks(*words.split()) == []


ONE = {"job_id": "{x}", "autofill_values": {"x": ["1", "2"]}, "bash_cmd": "true"}
PART = {"job_id": "{n}", "identifiers": {"n": "int"}, "autofill_values": {"n": "0:30"}, "bash_cmd": "true"}
GROUPS = {
    "all": [{"app_name": ["part"], "n": "all"}, {"app_name": ["spare"]}],
    "none": {"app_name": ["spare"], "when": "failed"},
}


@pytest.fixture(scope="module")
def many(offline: Typist) -> tuple[str, str]:
    """Return the options for definitions in which one job needs many."""
    offline.apps("many.json", {"part": PART, "spare": ONE, "whole": ONE | {"depends_on": GROUPS}})
    return ("--apps", "many.json")


def test_many_parents_of_one_app_are_cut_and_others_are_listed(
    offline: Typist, many: tuple[str, str]
) -> None:
    words = (*many, "parents", "whole", "1")
    lines = [line.split() for line in offline.types(*words).out.splitlines()]
    assert lines[0] == ["group", "app", "key", "must", "have"]
    assert lines[11:] == [
        ["all", "part", "…", "and", "20", "more", "(--all)", "succeeded"],
        ["all", "spare", "1", "succeeded"],
        ["none", "spare", "1", "failed"],
        ["The", "2", "groups", "are", "alternatives:", "any", "of", "them", "is", "enough."],
    ]
    assert len(offline.types(*words, "--all").out.splitlines()) == 34
    assert [len(group["jobs"]) for group in offline.asks(*words)] == [31, 1]


def test_a_plan_shows_alternatives_and_conditions(offline: Typist, many: tuple[str, str]) -> None:
    words = (*many, "plan", "whole", "1", "--facts", "-")
    said = offline.types(*words, given="{}")
    assert said.out.splitlines()[11].split()[:3] == ["part#11", "…", "and"]
    assert "all: part#1-30, spare#1 | none: spare#1 failed" in said.out
    (*_, whole) = offline.types(*words, "--json", given="{}").document["jobs"]
    assert whole["gates"][1] == {"name": "none", "needs": ["spare#1"], "when": {"spare#1": "failed"}}


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


def test_the_extension_of_the_file_sets_the_format_of_a_picture(offline: Typist) -> None:
    for name, begins in {"a.svg": "<svg ", "a.dot": "digraph ", "a.json": "{", "a.md": "graph TD"}.items():
        assert offline.types("graph", "-o", name).code == 0
        assert (offline.folder / name).read_text().startswith(begins)
