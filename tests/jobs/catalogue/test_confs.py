"""Confs, which give the final app of each mode under one name, and conf planners, which convert other documents."""

import json
from pathlib import Path
from typing import Any

import pytest

from sluice.jobs.catalogue import Catalogue, load
from sluice.jobs.errors import DefinitionError
from tests.jobs.catalogue.sources import write

pytestmark = pytest.mark.usefixtures("here")

APPS = {
    "sums": {"table_dependencies": [{"table": "events"}]},
    "join": {"table_dependencies": [{"table": "sums"}]},
    "keyed": {"job_id": "{x}"},
}


def _load(**document: Any) -> Catalogue:
    return load([write("confs.json", json.dumps(document))])


def _faults(**document: Any) -> list[str]:
    with pytest.raises(DefinitionError) as caught:
        _load(**document)
    return [fault.what for fault in caught.value.faults]


def test_a_conf_names_the_app_of_each_mode() -> None:
    catalogue = _load(**APPS, confs={"features": {"offline": "join", "early": "sums"}})
    assert catalogue.confs == {"features": {"offline": "join", "early": "sums"}}
    assert "confs" not in catalogue


@pytest.mark.parametrize(
    ("confs", "words"),
    [
        ({"f": {"offline": "joint"}}, "confs.f: offline: there is no app 'joint' (did you mean join?)"),
        ({"f": {"offline": 7}}, "there is no app 7"),
        ({"f": {"offline": "keyed"}}, "keyed is not keyed by partition"),
        ({"f": {"off line": "join"}}, "'off line' is no name of a mode"),
        (
            {"f": {"saga": "join"}},
            "saga is no name of a mode: it is the option by which a failed submission is undone",
        ),
        ({"f": {}}, "it has to be a mapping of modes to apps"),
        ({"f": "join"}, "it has to be a mapping of modes to apps"),
        (["join"], "it has to be a mapping of names to {mode: app}"),
        ({"join": {"offline": "sums"}}, "an app has this name too"),
    ],
)
def test_a_faulty_conf_is_reported(confs: Any, words: str) -> None:
    (fault,) = _faults(**APPS, confs=confs)
    assert words in fault


def test_two_sources_cannot_have_one_conf() -> None:
    one = write("one.json", json.dumps({**APPS, "confs": {"f": {"offline": "join"}}}))
    two = write("two.json", json.dumps({"confs": {"f": {"offline": "sums"}}}))
    with pytest.raises(DefinitionError, match=r"it is defined in .* already"):
        load([one, two])


PLANNER = """
def plan(document):
    apps = {}
    for name, query in document["queries"].items():
        apps[name] = {"bash_cmd": query["sql"], "table_dependencies": [{"table": t} for t in query["reads"]]}
    return {**apps, "confs": {"all": {"offline": document["last"]}}}

def lose(document):
    return None

def fail(document):
    raise KeyError("queries")
"""


def test_a_conf_planner_turns_any_document_into_apps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "warehouse_planner.py").write_text(PLANNER)
    monkeypatch.syspath_prepend(tmp_path)
    queries = {"a": {"sql": "echo a", "reads": ["events"]}, "b": {"sql": "echo b", "reads": ["a"]}}
    catalogue = _load(conf_planner="warehouse_planner:plan", queries=queries, last="b")
    assert list(catalogue) == ["a", "b"]
    assert [*catalogue["b"].parent_apps] == ["a"]
    assert catalogue.confs == {"all": {"offline": "b"}}


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("warehouse_planner:lose", "returned no mapping of apps: None"),
        ("warehouse_planner:fail", "warehouse_planner:fail raised KeyError: 'queries'"),
        ("warehouse_planner:nobody", "nobody"),
        (7, "7 is not the path of a function"),
    ],
)
def test_a_faulty_conf_planner_is_reported(
    path: Any, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "warehouse_planner.py").write_text(PLANNER)
    monkeypatch.syspath_prepend(tmp_path)
    (fault,) = _faults(conf_planner=path, queries={})
    assert fault.startswith("conf_planner: ")
    assert words in fault
