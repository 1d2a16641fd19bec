"""The version of an app that is keyed by partition. It depends on the work of the app and of all upstream apps."""

import json
from typing import Any

import pytest

from sluice.jobs.catalogue import load
from tests.jobs.catalogue.sources import write
from tests.jobs.catalogue.tables import reading

pytestmark = pytest.mark.usefixtures("here")

Apps = dict[str, dict[str, Any]]


def _apps(**changes: dict[str, Any]) -> Apps:
    """Define two lines that meet: ``a → c → e`` and ``b → d → e``. ``a`` and ``b`` read the external table ``raw``."""
    apps = {
        "a": reading("raw", bash_cmd="echo a"),
        "b": reading("raw", output_table="beta"),
        "c": reading({"table": "a", "start_offset": 90}, step_size=7),
        "d": reading("beta", {"table": "beta", "offset": 3}),
        "e": reading("c", "d"),
    }
    changed = apps | {name: {**apps.get(name, {}), **words} for name, words in changes.items()}
    return {
        name: {word: value for word, value in words.items() if value is not None}
        for name, words in changed.items()
    }


def _versions(apps: Apps) -> dict[str, str]:
    catalogue = load([write("apps.json", json.dumps(apps))])
    return {app.name: app.version for app in catalogue.values()}


def _moved(changed: Apps) -> list[str]:
    before, after = _versions(_apps()), _versions(changed)
    return [name for name in before if name not in after or after[name] != before[name]]


def test_a_version_is_eight_hexadecimal_digits_and_unique_to_its_app() -> None:
    versions = _versions(_apps())
    assert versions == _versions(_apps())
    assert len(set(versions.values())) == len(versions)
    for version in versions.values():
        assert len(version) == 8
        int(version, 16)


def test_only_apps_keyed_by_partition_have_a_version() -> None:
    assert _versions({"a": {"job_id": "{x}"}, "b": {"chunk_size": 1}}) == {"a": "", "b": ""}


@pytest.mark.parametrize(
    "words",
    [
        {"step_size": 30},
        {"modes": {"offline": {"max_fails": 1}}},
        {"partition": {"first": "2020-01-01"}},
        {"max_fails": 2, "timeout": "1h", "retry": {"rule": "fixed", "seconds": 5}, "priority": 3},
        {"max_losses": 0, "max_timeouts": 1, "start_after": 0, "end_before": 9_999_999_999},
        {"owner": "ann", "description": "…", "tags": ["x"], "resources": {"memory": "8G"}},
        # Other spellings of the same definition.
        {"partition": "day"},
        {"partition": {"unit": "day", "format": "%Y-%m-%d"}},
        {"output_table": "a"},
        reading({"table": "raw", "start_offset": 0, "end_offset": None}),
        reading({"table": "raw", "offset": "0s", "cumulative": False, "start_cutoff": None}),
        reading({"table": "raw", "partition": {"unit": "day"}}),
    ],
    ids=str,
)
def test_options_that_do_not_affect_the_output_change_no_version(words: dict[str, Any]) -> None:
    assert _moved(_apps(a=words)) == []


@pytest.mark.parametrize(
    "words",
    [
        {"bash_cmd": "echo A"},
        {"bash_cmd": None},
        {"bash_cmd": None, "function": "os.path:join"},
        {"partition": "hour", **reading({"table": "raw", "partition": "day"})},
        {"partition": {"format": "%Y%m%d"}, **reading({"table": "raw", "partition": "day"})},
        {"env": {"LIMIT": "3"}},
        {"fail_on": "stderr"},
        reading(),
        reading("raws"),
        reading("raw", "more"),
        reading({"table": "raw", "start_offset": 1}),
        reading({"table": "raw", "start_offset": None}),
        reading({"table": "raw", "end_offset": 1}),
        reading({"table": "raw", "start_cutoff": "2024-01-01", "start_offset": 0}),
        reading({"table": "raw", "end_cutoff": "2024-01-01"}),
        reading({"table": "raw", "cumulative": True}),
    ],
    ids=str,
)
def test_a_change_of_the_output_changes_the_versions_downstream_too(words: dict[str, Any]) -> None:
    assert _moved(_apps(a=words)) == ["a", "c", "e"]


@pytest.mark.parametrize(
    ("words", "same"),
    [
        ({"start_offset": 1}, {"start_offset": "1d"}),
        ({"start_offset": 2, "end_offset": 2}, {"offset": "48h"}),
        ({"start_cutoff": "2024-04-01"}, {"start_cutoff": 20240401, "start_offset": None}),
        ({"end_cutoff": "2024-04-30"}, {"end_cutoff": "2024-04"}),
        ({"start_offset": None}, {"start_offset": 10**9}),
        ({"offset": 1}, {"end_offset": 1, "start_offset": 1}),
    ],
)
def test_another_spelling_of_the_same_offset_gives_the_same_version(
    words: dict[str, Any], same: dict[str, Any]
) -> None:
    one = _versions(_apps(a=reading({"table": "raw", **words})))
    other = _versions(_apps(a=reading({"table": "raw", **same})))
    assert one == other != _versions(_apps())


def test_a_month_is_not_a_number_of_days() -> None:
    def version(offset: Any) -> str:
        return _versions({"a": reading({"table": "raw", "offset": offset}, partition="month")})["a"]

    assert len({version(1), version("30d"), version("31d"), version(0)}) == 4


def test_a_week_is_seven_days() -> None:
    def version(offset: Any) -> str:
        return _versions({"a": reading({"table": "raw", "offset": offset}, partition="week")})["a"]

    assert version(1) == version("7d") == version("1w") != version(0)


def test_a_reverted_definition_has_its_old_versions_again() -> None:
    before = _versions(_apps())
    assert _versions(_apps(b={"bash_cmd": "echo B"})) != before
    assert _versions(_apps()) == before


def test_a_new_app_without_readers_changes_no_other_version() -> None:
    assert _moved(_apps(f=reading("e", "a", {"table": "raw"}))) == []


def test_an_app_that_fills_an_external_table_changes_all_readers() -> None:
    assert _moved(_apps(raw={"step_size": 1})) == ["a", "b", "c", "d", "e"]


def test_a_new_parent_changes_the_versions_of_its_child_and_downstream() -> None:
    assert _moved(_apps(d=reading("beta", {"table": "beta", "offset": 3}, "f"), f={"step_size": 1})) == [
        "d",
        "e",
    ]


def test_removing_an_app_without_readers_changes_no_other_version() -> None:
    apps = _apps()
    del apps["e"]
    assert _moved(apps) == ["e"]


def test_a_version_depends_on_the_order_of_tables_but_not_of_apps() -> None:
    assert _moved(_apps(e=reading("d", "c"))) == ["e"]
    assert _moved(dict(reversed(_apps().items()))) == []


def test_renaming_an_app_does_not_change_its_version() -> None:
    apps = _apps()
    apps["z"] = apps.pop("b")
    versions, before = _versions(apps), _versions(_apps())
    assert versions == {**{name: before[name] for name in "acde"}, "z": before["b"]}


def test_another_output_table_changes_the_versions_downstream_too() -> None:
    apps = _apps(b={"output_table": "gamma"})
    apps["d"] = reading("gamma", {"table": "gamma", "offset": 3})
    assert _moved(apps) == ["b", "d", "e"]


@pytest.mark.parametrize(("body", "same"), [("return 1", True), ("return 2", False)])
def test_the_version_depends_on_the_text_of_the_function(body: str, *, same: bool) -> None:
    def version(body: str, words: str) -> str:
        text = f"from sluice import app\n@app(output_table='t', {words})\ndef a(job):\n    {body}\n"
        return load([write("a.py", text)]).app("a").version

    assert (version("return 1", "step_size=1") == version(body, "step_size=9, max_fails=3")) is same
