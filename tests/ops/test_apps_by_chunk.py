"""Commands about apps that are keyed by chunk, without a ledger, and the example of Stau."""

from pathlib import Path
from typing import Any

import pytest

from tests.ops.typist import NO_LEDGER, ROOT, Typist

EXAMPLE = str(ROOT / "jobs" / "examples" / "stau")
APPS = {
    "customers": {"chunk_size": 1000, "allow_multiple_jobs": True, "freshness_by": ["region"]},
    "orders": {
        "chunk_size": 50,
        "bash_cmd": "echo {work_ids}",
        "on_failure": "bisect",
        "data_sources": ["shop"],
        "data_sinks": ["lake", "desk"],
        "dependencies": [
            {"job_type": "customers", "max_lag": "6h", "custom_kwargs": {"k": [1]}, "unique": True},
            {"job_type": "customers", "max_lag": 0, "allow_missing_work_ids": True},
        ],
    },
    "fetch": {"job_id": "{date}"},
}


@pytest.fixture
def chunked(tmp_path: Path) -> Typist:
    typist = Typist(
        tmp_path, SLUICE_LEDGER_URL=NO_LEDGER, SLUICE_APPS="apps.json", SLUICE_HOME=f"{tmp_path}/home"
    )
    typist.apps("apps.json", APPS)
    return typist


def test_the_list_of_apps_has_the_chunk_sizes(chunked: Typist) -> None:
    rows = [line.split("  ") for line in chunked.types("apps", "show").out.splitlines()]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert cells == [
        ["app", "type", "key", "parents"],
        ["customers", "bash", "up to 1,000 work IDs"],
        ["fetch", "bash", "{date}"],
        ["orders", "bash", "up to 50 work IDs", "customers"],
    ]


def test_apps_show_prints_everything_about_a_chunked_app(chunked: Typist) -> None:
    orders = chunked.types("apps", "show", "orders").out
    for line in (
        "  key: up to 50 work IDs\n",
        "  parents: customers\n",
        "  work IDs from: the submission\n",
        "  reads: shop\n",
        "  writes: lake, desk\n",
        "customers   6 h 0 min     k=[1], for this app alone\n",
        "customers   no time       any work IDs\n",
        "on_failure  bisect\n",
    ):
        assert line in orders, orders
    customers = chunked.types("apps", "show", "customers").out
    for line in ("  children: orders\n", "  fresh by: work ID, region\n", "\nIt needs no other app.\n"):
        assert line in customers, customers


def test_the_document_of_a_chunked_app_has_every_option(chunked: Typist) -> None:
    orders = chunked.asks("apps", "show", "orders")
    assert (orders["job_id"], orders["identifiers"]) == (None, {})
    assert orders["parents"] == [{"group": "default", "apps": ["customers"]}]
    assert orders["policy"]["on_failure"] == "bisect"
    chunks = orders["chunks"]
    assert chunks.pop("dependencies")[0] == {
        "job_type": "customers",
        "max_lag_s": 21_600.0,
        "custom_kwargs": {"k": [1]},
        "allow_missing_work_ids": False,
        "unique": True,
    }
    assert chunks == {
        "chunk_size": 50,
        "select_work": None,
        "default_work_ids": None,
        "freshness_by": [],
        "allow_multiple_jobs": False,
        "data_sources": ["shop"],
        "data_sinks": ["lake", "desk"],
    }
    customers = chunked.asks("apps", "show", "customers")
    assert (customers["parents"], customers["children"]) == ([], ["orders"])
    assert chunked.asks("apps", "show", "fetch")["chunks"] is None


def test_dependencies_are_edges_of_the_graph(chunked: Typist) -> None:
    graph = chunked.asks("graph", "orders")
    assert [node["id"] for node in graph["nodes"]] == ["customers", "orders"]
    assert [(edge["from"], edge["to"]) for edge in graph["edges"]] == [("customers", "orders")]


def test_commands_show_jobs_with_keys_that_work_ids_need(chunked: Typist, tmp_path: Path) -> None:
    (tmp_path / "shops.py").write_text(
        "class Shops:\n"
        "    def parents(self, app, ids): return [('fetch', {'shop': 'oslo'})] if ids['work_id'] < 4 else []\n"
        "    def children(self, app, ids): return [('score', {'work_id': each}) for each in (1, 2, 3)]\n"
    )
    bridge = {"_func": "shops:Shops", "app_name": ["fetch"], "when": "finished"}
    apps = {"fetch": {"job_id": "{shop}"}, "score": {"chunk_size": 2, "depends_on": bridge}}
    chunked.apps("shops.json", apps)

    def asked(*words: str) -> Any:
        return chunked.asks("--apps", "shops.json", *words)

    assert asked("children", "fetch", "oslo") == [{"app": "score", "work_ids": [[1, 3]]}]
    assert asked("apps", "show", "fetch")["children"] == ["score"]
    (edge,) = asked("graph")["edges"]
    assert (edge["from"], edge["to"], edge["when"]) == ("fetch", "score", "finished")
    shown = chunked.types("--apps", "shops.json", "apps", "show", "score").out
    assert "fetch       any time      keys by shops:Shops\n" in shown, shown
    refused = chunked.types("--apps", "shops.json", "children", "fetch", "rome")
    assert "but does not name this job as a parent of it" in refused.err


def test_a_chunk_can_be_run_with_bypass(chunked: Typist) -> None:
    (job,) = chunked.types("run", "--bypass", "orders", "7,1-3", "--json").document["jobs"]
    assert (job["key"], job["output"]) == ("1-3,7", "1-3,7\n")
    said = chunked.types("run", "--bypass", "orders", "3-1")
    assert said.code == 2
    assert "orders runs on work IDs: '3-1' ends before it begins." in said.err
    assert "sluice run --bypass orders 1-3,7" in chunked.types("run", "--bypass", "orders").err


def test_the_example_folder_defines_two_apps(chunked: Typist) -> None:
    shown = chunked.asks("--apps", EXAMPLE, "apps", "show")
    assert [(app["app"], app["chunks"]["chunk_size"]) for app in shown] == [("hello", 1), ("goodbye", 2)]
    assert shown[1]["chunks"]["select_work"] == f"{EXAMPLE}/goodbye.py:select_work"


def test_the_example_prints_hello_and_goodbye(chunked: Typist) -> None:
    assert chunked.types("--apps", EXAMPLE, "run", "--bypass", "hello", "1").out == "Hello work ID 1\n"
    words = ("run", "--bypass", "goodbye", "0,1", "--kwargs", '{"final_message": "Thanks for trying Stau!"}')
    said = chunked.types("--apps", EXAMPLE, *words)
    assert said.out.splitlines() == ["Goodbye work ID 0", "Goodbye work ID 1", "Thanks for trying Stau!"]
