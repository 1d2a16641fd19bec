"""Commands about apps that are keyed by partition, without a ledger."""

from pathlib import Path

import pytest

from tests.ops.typist import NO_LEDGER, Typist

APPS = {
    "staging": {"output_table": "lake.staging", "partition": {"format": "%Y%m%d", "first": 20200101}},
    "grouped": {
        "step_size": 7,
        "bash_cmd": "echo {start} {end}",
        "modes": {"offline": {"max_fails": 3}, "online": {}},
        "table_dependencies": [
            {"table": "lake.staging", "start_offset": 90, "end_offset": 1},
            {"table": "lake.staging", "start_offset": "12h", "start_cutoff": "2024-01-01"},
            {"table": "prices", "start_offset": None, "end_cutoff": "2024-04", "cumulative": True},
            {"table": "logs", "start_cutoff": "2024-01-01", "partition": "hour"},
        ],
    },
    "fetch": {"job_id": "{date}"},
}


@pytest.fixture
def partitioned(tmp_path: Path) -> Typist:
    typist = Typist(
        tmp_path, SLUICE_LEDGER_URL=NO_LEDGER, SLUICE_APPS="apps.json", SLUICE_HOME=f"{tmp_path}/home"
    )
    typist.apps("apps.json", APPS)
    return typist


def test_apps_check_lists_the_tables_that_no_app_fills(partitioned: Typist) -> None:
    assert partitioned.types("apps", "check").out == (
        "3 apps, no faults.\nTables that no app fills: logs, prices.\n"
    )
    assert partitioned.asks("apps", "check") == {
        "apps": ["staging", "grouped", "fetch"],
        "externals": ["logs", "prices"],
    }


def test_the_list_of_apps_has_the_partitions_per_job(partitioned: Typist) -> None:
    rows = [line.split("  ") for line in partitioned.types("apps", "show").out.splitlines()]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert cells == [
        ["app", "type", "key", "parents"],
        ["fetch", "bash", "{date}"],
        ["staging", "bash", "one day"],
        ["grouped", "bash", "up to 7 days", "staging"],
    ]


def test_apps_show_prints_everything_about_a_partitioned_app(partitioned: Typist) -> None:
    version = partitioned.asks("apps", "show", "grouped")["version"]
    grouped = partitioned.types("apps", "show", "grouped").out
    for line in (
        "  key: up to 7 days\n",
        "  parents: staging\n",
        "  fills: grouped, by day, like 2024-04-01\n",
        "  modes: offline, online\n",
        f"  version: {version}\n",
    ):
        assert line in grouped, grouped
    tables = [
        " ".join(line.split()) for line in grouped.splitlines() if line.startswith(("lake", "pri", "log"))
    ]
    assert tables == [
        "lake.staging staging 90 days before the start 1 day before the end",
        "lake.staging staging 12 h 0 min before the start, or 20240101 the end",
        "prices external the beginning the end, or 2024-04-30; any later one is accepted",
        "logs external 2024-01-01-00 the end",
    ]
    staging = partitioned.types("apps", "show", "staging").out
    for line in (
        "  children: grouped\n",
        "  fills: lake.staging, by day, like 20240401\n",
        "  first: 20200101\n",
        "\nIt reads no table.\n",
    ):
        assert line in staging, staging


def test_the_document_of_a_partitioned_app_has_every_option(partitioned: Typist) -> None:
    grouped = partitioned.asks("apps", "show", "grouped")
    assert (grouped["job_id"], grouped["identifiers"], grouped["chunks"]) == (None, {}, None)
    assert grouped["parents"] == [{"group": "default", "apps": ["staging"]}]
    assert len(grouped["version"]) == 8
    partitions = grouped["partitions"]
    read = partitions.pop("table_dependencies")
    assert partitions == {
        "output_table": "grouped",
        "partition": {
            "unit": "day",
            "format": "%Y-%m-%d",
            "example": "2024-04-01",
            "first": None,
            "by": {},
        },
        "step_size": 7,
        "modes": {"offline": {"max_fails": 3}, "online": {}},
    }
    assert [(each["table"], each["app"]) for each in read] == [
        ("lake.staging", "staging"),
        ("lake.staging", "staging"),
        ("prices", None),
        ("logs", None),
    ]
    assert [(each["start_offset"], each["end_offset"]) for each in read] == [
        (90, 1),
        ("43200s", 0),
        (None, 0),
        (None, 0),
    ]
    assert [(each["start_cutoff"], each["end_cutoff"]) for each in read] == [
        (None, None),
        ("20240101", None),
        (None, "2024-04-30"),
        ("2024-01-01-00", None),
    ]
    assert read[3]["partition"] == {
        "unit": "hour",
        "format": "%Y-%m-%d-%H",
        "example": "2024-04-01-13",
        "first": None,
        "by": {},
    }
    assert [each["cumulative"] for each in read] == [False, False, True, False]
    fetch = partitioned.asks("apps", "show", "fetch")
    assert (fetch["partitions"], fetch["version"]) == (None, None)
    assert partitioned.asks("apps", "show", "staging")["children"] == ["grouped"]


def test_tables_are_edges_of_the_graph(partitioned: Typist) -> None:
    graph = partitioned.asks("graph", "grouped")
    assert [node["id"] for node in graph["nodes"]] == ["table logs", "table prices", "staging", "grouped"]
    assert [(edge["from"], edge["to"]) for edge in graph["edges"]] == [
        ("table logs", "grouped"),
        ("table prices", "grouped"),
        ("staging", "grouped"),
    ]
