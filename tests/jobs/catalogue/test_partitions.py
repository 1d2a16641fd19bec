"""Apps that are keyed by partition, defined in each kind of source."""

from typing import Any

import pytest
from msgspec.structs import replace

from sluice.jobs.catalogue import load
from sluice.jobs.keys.calendar import Calendar, Unit
from sluice.jobs.keys.partitions import Offset, Partitioning, TableDependency
from tests.jobs.catalogue.sources import write
from tests.jobs.catalogue.tables import begin_s, partitioning_of
from tests.planner.definitions import catalogue_of, faults_of

pytestmark = pytest.mark.usefixtures("here")

JSON = """
    {"default_job_id": "{date}",
     "staging": {"step_size": 1, "bash_cmd": "echo {start} {end} {partitions} {app_name}"},
     "daily": {"output_table": "lake.daily", "partition": {"unit": "day", "format": "%Y%m%d", "first": "20200101"},
               "step_size": 7, "modes": {"offline": {"max_fails": 3}, "online": {}},
               "table_dependencies": [
                  {"table": "staging", "start_offset": 90, "end_offset": "12h", "end_cutoff": "2024-12-31"},
                  {"table": "logs", "start_offset": null, "cumulative": true, "partition": "hour"}]}}
"""
TOML = """
    default_job_id = "{date}"
    [staging]
    step_size = 1
    bash_cmd = "echo {start} {end} {partitions} {app_name}"
    [daily]
    output_table = "lake.daily"
    partition = { unit = "day", format = "%Y%m%d", first = 2020-01-01 }
    step_size = 7
    modes = { offline = { max_fails = 3 }, online = {} }
    [[daily.table_dependencies]]
    table = "staging"
    start_offset = 90
    end_offset = "12h"
    end_cutoff = 2024-12-31
    [[daily.table_dependencies]]
    table = "logs"
    start_offset = "20000000d"
    cumulative = true
    partition = "hour"
"""
YAML = """
    default_job_id: "{date}"
    staging: {step_size: 1, bash_cmd: "echo {start} {end} {partitions} {app_name}"}
    daily:
      output_table: lake.daily
      partition: {format: "%Y%m%d", first: 20200101}
      step_size: 7
      modes: {offline: {max_fails: 3}, online: {}}
      table_dependencies:
        - {table: staging, start_offset: 90, end_offset: 12h, end_cutoff: 2024-12-31}
        - {table: logs, start_offset: null, cumulative: true, partition: {unit: hour}}
"""
DECORATED = """
    import datetime
    from sluice import app

    default_job_id = "{date}"

    @app(step_size=1)
    def staging(start, end, partitions): ...

    @app(output_table="lake.daily", partition={"format": "%Y%m%d", "first": datetime.date(2020, 1, 1)},
         step_size=7, modes={"offline": {"max_fails": 3}, "online": {}},
         table_dependencies=({"table": "staging", "offset": 90, "end_offset": "12h",
                              "end_cutoff": datetime.date(2024, 12, 31)},
                             {"table": "logs", "start_offset": None, "cumulative": True, "partition": "hour"}))
    def daily(job): ...
"""


@pytest.mark.parametrize(
    ("source", "text"), [("a.json", JSON), ("a.toml", TOML), ("a.yaml", YAML), ("a.py", DECORATED)]
)
def test_every_kind_of_source_defines_the_same_partitions(source: str, text: str) -> None:
    catalogue = load([write(source, text)])
    assert partitioning_of(catalogue.app("daily")) == Partitioning(
        table="lake.daily",
        calendar=Calendar("day", "%Y%m%d"),
        step_size=7,
        dependencies=(
            TableDependency(
                table="staging",
                start_offset=Offset(90),
                end_offset=Offset(seconds=43_200),
                end_cutoff_s=begin_s("2025-01-01"),
                producer="staging",
                version=catalogue["staging"].version,
            ),
            TableDependency(table="logs", start_offset=None, cumulative=True, calendar=Calendar("hour")),
        ),
        first=Calendar().read("2020-01-01"),
        modes={"offline": {"max_fails": 3}, "online": {}},
    )
    assert partitioning_of(catalogue.app("staging")) == Partitioning(table="staging", calendar=Calendar())


@pytest.mark.parametrize(
    "words",
    [
        {"output_table": "a"},
        {"partition": "day"},
        {"partition": {}},
        {"partition": {"unit": "day"}},
        {"partition": {"format": "%Y-%m-%d"}},
        {"step_size": 1},
        {"table_dependencies": []},
        {"modes": {}},
    ],
)
def test_any_option_of_partitions_keys_an_app_by_partition_with_defaults(words: dict[str, Any]) -> None:
    app = catalogue_of({"default_job_id": "{date}_{x}", "a": words}).app("a")
    assert app.partitioning == Partitioning(table="a", calendar=Calendar())
    assert (app.identifiers, app.autofill, app.groups, app.chunking) == ({}, {}, (), None)


@pytest.mark.parametrize("key", ["2024-04-01@3f9c21ab", "2024-04-01..2024-04-07", "running", "a_b"])
def test_an_app_keyed_by_partition_accepts_any_key(key: str) -> None:
    app = catalogue_of({"a": {"step_size": 1}}).app("a")
    assert app.write_key(app.read_key(key)) == key


def test_other_options_apply_to_apps_keyed_by_partition_too() -> None:
    words = {
        "step_size": 3,
        "bash_cmd": "echo {start}..{end}",
        "max_fails": 2,
        "timeout": "1h",
        "env": {"A": "1"},
    }
    app = catalogue_of({"a": words}).app("a")
    assert (app.job_type, app.policy.max_fails, app.policy.timeout_s) == ("bash", 2, 3600.0)


def test_descriptive_options_are_accepted_for_any_app_without_effect() -> None:
    notes = {
        "owner": "ann",
        "description": ["…"],
        "tags": {"a": 1},
        "resources": {"memory": "2G", "cores": None},
    }
    kinds: list[dict[str, Any]] = [{"job_id": "{x}"}, {"chunk_size": 1}, {"step_size": 1}]
    with_notes = catalogue_of({f"a{n}": {**kind, **notes} for n, kind in enumerate(kinds)})
    without = catalogue_of({f"a{n}": kind for n, kind in enumerate(kinds)})
    for name, app in without.items():
        noted = with_notes[name]
        assert noted == replace(app, origin=noted.origin, words=noted.words)


@pytest.mark.parametrize(
    ("partition", "first"),
    [
        ({"first": "2020-01-02"}, 18_263),
        ({"unit": "hour", "first": "2020-01-02"}, 18_263 * 24),
        ({"unit": "hour", "first": "2020-01-02-03"}, 18_263 * 24 + 3),
        ({"unit": "month", "first": "2020-02"}, 601),
        ({"unit": "month", "first": "2020-02-17"}, 601),
        ({"format": "%Y%m%d", "first": 20200102}, 18_263),
        ({"first": None}, None),
    ],
)
def test_first_sets_the_earliest_possible_partition(partition: dict[str, Any], first: int | None) -> None:
    assert partitioning_of(catalogue_of({"a": {"partition": partition}}).app("a")).first == first


@pytest.mark.parametrize(
    ("unit", "format_"),
    [("day", "%Y%m%d"), ("day", "%Y-%j"), ("day", "ds=%Y-%m-%d"), ("hour", "%Y%m%dT%H"), ("month", "%b.%Y")],
)
def test_a_partition_may_have_its_own_format(unit: Unit, format_: str) -> None:
    calendar = partitioning_of(
        catalogue_of({"a": {"partition": {"unit": unit, "format": format_}}}).app("a")
    ).calendar
    assert calendar == Calendar(unit, format_)


def test_modes_are_kept_in_the_form_of_a_submission_policy() -> None:
    text = """
        a:
          modes:
            offline: {start_after: 2024-04-01 00:00:00, timeout: 1h, retry: {rule: fixed, seconds: 5}}
            dry-run.2: {}
    """
    assert partitioning_of(load([write("a.yaml", text)]).app("a")).modes == {
        "offline": {
            "start_after": "2024-04-01T00:00:00",
            "timeout": "1h",
            "retry": {"rule": "fixed", "seconds": 5},
        },
        "dry-run.2": {},
    }


def test_all_faults_of_partitions_are_reported_at_once() -> None:
    apps = {
        "a": {
            "step_size": 0,
            "partition": {"unit": "year", "fromat": "x"},
            "table_dependencies": [{"start_offset": -1}, {"table": "b", "end_offset": "x", "cumulative": 1}],
            "modes": {"offline": {"max_fail": 1, "timeout": "never"}},
        },
        "b": {"output_table": "", "table_dependencies": [{"table": "t", "start_cutoff": "x"}]},
    }
    assert [(app, what.partition(": ")[0]) for app, what in faults_of(apps)] == [
        ("a", "modes"),
        ("a", "modes"),
        ("a", "partition"),
        ("a", "partition"),
        ("a", "step_size"),
        *[("a", "table_dependencies")] * 4,
        ("b", "output_table"),
        ("b", "table_dependencies"),
    ]
