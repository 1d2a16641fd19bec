"""Slices of tables with a second dimension, in an operator's commands and in the console."""

from typing import Any

import pytest

from sluice.ops.cli.main import main
from tests.ops.site import Site

BY = {"store": ["graz", "oslo"]}
APPS: dict[str, Any] = {
    "sales": {
        "bash_cmd": "true",
        "partition": {"by": BY},
        "table_dependencies": [{"table": "events", "partition": {"by": BY}}],
    },
    "total": {"bash_cmd": "true", "table_dependencies": [{"table": "sales"}]},
}
DAYS = ("--start", "2024-04-01", "--end", "2024-04-02")


@pytest.fixture
def sliced(site: Site) -> Site:
    site.define(APPS)
    return site


def _land(site: Site, store: str, *words: str) -> Any:
    return site.says(
        "partitions", "land", "events", "2024-04-01..2024-04-02", "--by", f"store={store}", *words
    )


def _made(site: Site) -> None:
    """Make two days of the slice of one store."""
    _land(site, "oslo")
    site.world.submit("sales", None, id="days", start="2024-04-01", end="2024-04-02", by={"store": ["oslo"]})
    for name in sorted(site.world.ready()):
        site.world.finish(name)


def test_plan_has_the_jobs_of_the_requested_slices(sliced: Site) -> None:
    planned = sliced.says("plan", "sales", *DAYS)
    assert [job["key"].partition("@")[0] for job in planned["jobs"] if job["app"] == "sales"] == [
        *("graz/2024-04-01", "graz/2024-04-02", "oslo/2024-04-01", "oslo/2024-04-02"),
    ]
    planned = sliced.says("plan", "sales", *DAYS, "--by", "store=oslo")
    assert [job["key"].partition("@")[0] for job in planned["jobs"] if job["app"] == "sales"] == [
        *("oslo/2024-04-01", "oslo/2024-04-02"),
    ]
    assert {each["table"] for each in planned["waits_for"]} == {"events[store=oslo]"}


def test_plan_has_the_existing_partitions_of_each_slice(sliced: Site) -> None:
    _made(sliced)
    satisfied = sliced.says("plan", "sales", *DAYS)["satisfied"]
    assert {"app": "sales", "key": "oslo/2024-04-01..2024-04-02"}.items() <= satisfied[0].items()


def test_plan_names_the_slice_of_each_job(sliced: Site) -> None:
    _made(sliced)
    told = sliced.types("plan", "sales", *DAYS)
    assert "graz/2024-04-01" in told
    assert "sales oslo/2024-04-01..2024-04-02 need not run" in told


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--by", "store=osol"), "there is no store 'osol'; its values: graz, oslo"),
        (("--by", "shop=oslo"), "its second dimension is store, not shop"),
        (("--by", "oslo"), "--by oslo names no value"),
    ],
)
def test_an_unknown_slice_is_refused(sliced: Site, words: tuple[str, ...], what: str) -> None:
    assert what in sliced.says("plan", "sales", *DAYS, *words, code=2)["error"]["what"]


def test_a_slice_is_selected_together_with_a_range(sliced: Site) -> None:
    error = sliced.says("plan", "sales", "oslo/2024-04-01", "--by", "store=oslo", code=2)["error"]
    assert "by selects slices of a range" in error["what"]
    error = sliced.says("plan", "total", *DAYS, "--by", "store=oslo", code=2)["error"]
    assert "total has no second dimension" in error["what"]


def test_partitions_are_listed_by_slice(sliced: Site) -> None:
    _made(sliced)
    assert [(each["table"], each["there"]) for each in sliced.says("partitions", "ls")] == [
        *(("events[store=graz]", 0), ("events[store=oslo]", 2)),
        *(("sales[store=graz]", 0), ("sales[store=oslo]", 2), ("total", 0)),
    ]
    assert [each["table"] for each in sliced.says("partitions", "ls", "sales")] == [
        *("sales[store=graz]", "sales[store=oslo]"),
    ]
    for words in (("sales", "--by", "store=oslo"), ("sales[store=oslo]",)):
        whole = sliced.says("partitions", "ls", *words, "--from", "2024-04-02")
        assert [run["span"] for run in whole["runs"]] == [["2024-04-02", "2024-04-02"]]
    error = sliced.says("partitions", "ls", "sales", "--from", "2024-04-02", code=2)["error"]
    assert error["what"] == "--from and --to need one slice of sales."
    error = sliced.says("partitions", "ls", "--by", "store=oslo", code=2)["error"]
    assert error["what"] == "--by needs a table."


def test_slices_land_and_are_restated(sliced: Site) -> None:
    _made(sliced)
    assert _land(sliced, "graz") == {"table": "events[store=graz]", "landed": 2}
    assert _land(sliced, "oslo", "--again")["stale"] == {"sales[store=oslo]": 2}
    assert sliced.says("partitions", "restate", "sales", "--by", "store=graz")["submissions"] == []
    assert len(sliced.says("partitions", "restate", "sales", "--by", "store=oslo")["submissions"]) == 1
    error = sliced.says("partitions", "land", "events", "2024-04-01", code=2)["error"]
    assert "no slice of it is named" in error["what"]
    assert "--by store=graz" in error["advice"]


def test_the_grid_has_a_line_for_each_slice(sliced: Site, capfd: pytest.CaptureFixture[str]) -> None:
    _made(sliced)
    sliced.world.submit("sales", None, id="both", start="2024-04-01", end="2024-04-02")
    capfd.readouterr()
    assert main(["grid", "both"]) == 0
    assert capfd.readouterr().out.splitlines()[:2] == ["sales[store=graz]  ..", "sales[store=oslo]  ##"]
    assert main(["grid", "days"]) == 0
    assert capfd.readouterr().out.splitlines()[0] == "sales[store=oslo]  ##"
    assert [each["table"] for each in sliced.says("grid", "both")["apps"]] == [
        *("sales[store=graz]", "sales[store=oslo]"),
    ]


def test_why_names_the_slice_that_has_not_landed(sliced: Site) -> None:
    sliced.world.submit("total", None, start="2024-04-01", end="2024-04-01")
    told = sliced.in_words("sales/oslo/2024-04-01")
    assert "events[store=oslo]/2024-04-01" in told
    assert "sluice partitions land 'events[store=oslo]' 2024-04-01" in told
    assert sliced.says("show", "sales", "oslo/2024-04-01")["span"] == ["2024-04-01", "2024-04-01"]


def test_parents_and_children_are_those_of_the_slice(sliced: Site) -> None:
    assert sliced.says("parents", "sales", "oslo/2024-04-01")[0]["jobs"] == [
        ["events[store=oslo]", "2024-04-01"]
    ]
    assert sliced.says("children", "sales", "oslo/2024-04-01") == [["total", "2024-04-01"]]
    assert sliced.says("children", "events[store=oslo]", "2024-04-01") == [["sales", "oslo/2024-04-01"]]
    assert sliced.says("parents", "total", "2024-04-01")[0]["jobs"] == [
        *(["sales", "graz/2024-04-01"], ["sales", "oslo/2024-04-01"]),
    ]
    error = sliced.says("parents", "sales", "2024-04-01", code=2)["error"]
    assert "it names no store" in error["what"]


def test_apps_show_names_the_slices(sliced: Site) -> None:
    sales, total = (sliced.says("apps", "show", name)["partitions"] for name in ("sales", "total"))
    assert sales["partition"]["by"] == BY
    assert [each["all_slices"] for each in (*sales["table_dependencies"], *total["table_dependencies"])] == [
        *(False, True),
    ]
    assert "store: graz, oslo" in sliced.types("apps", "show", "sales")
    assert "sales, every store" in sliced.types("apps", "show", "total")
