"""Slices of tables with a second dimension, in an operator's commands and in the console."""

import json
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from sluice.ops.cli.main import main
from sluice.ops.console.access import AccessControl
from sluice.ops.console.http_message import Request
from tests.ops.console_client import HERE, TOKEN, console_of, told
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


def test_a_condition_selects_the_jobs_of_a_slice(sliced: Site) -> None:
    sliced.world.submit("sales", None, start="2024-04-01", end="2024-04-02")
    where = ("--where", "app = sales and inputs.store = oslo")
    assert [job["key"].partition("@")[0] for job in sliced.says("ls", *where)] == [
        *("oslo/2024-04-02", "oslo/2024-04-01"),
    ]
    assert sliced.says("cancel", *where)["changed"] == 2
    states = {name.partition("@")[0]: state for name, state in sliced.world.states().items()}
    assert {name: state for name, state in states.items() if name.startswith("sales/")} == {
        "sales/graz/2024-04-01": "waiting",
        "sales/graz/2024-04-02": "waiting",
        "sales/oslo/2024-04-01": "cancelled",
        "sales/oslo/2024-04-02": "cancelled",
    }


def _asks(site: Site, path: str, document: Any = None, **query: str) -> Any:
    """Return the answer of the console. Without a document, it is a GET."""
    body = b"" if document is None else json.dumps(document).encode()
    method = "GET" if document is None else "POST"
    request = Request(method=method, path=path, query=urlencode(query), headers=HERE, body=body)
    console = console_of(site.world, AccessControl(TOKEN), str(site.folder / "apps.json"))
    return told(console.answer(request))


class TestConsole:
    """Calls of the console. Names of slices have brackets and ``=``, which addresses write as ``%5B`` and so on."""

    SLICE = "events[store=oslo]"

    def test_a_slice_lands_by_its_name_in_the_address(self, sliced: Site) -> None:
        for name, landed in ((quote(self.SLICE, safe=""), 1), (self.SLICE, 0)):
            answer = _asks(sliced, f"/api/partitions/{name}/land", {"partitions": ["2024-04-01"]})
            assert (answer["table"], answer["landed"]) == (self.SLICE, landed)
        assert [(each["table"], each["there"]) for each in sliced.says("partitions", "ls", "events")] == [
            *(("events[store=graz]", 0), (self.SLICE, 1)),
        ]
        refused = _asks(sliced, "/api/partitions/events/land", {"partitions": ["2024-04-01"]})
        assert refused["status"] == 422
        assert "no slice of it is named" in refused["detail"]

    def test_stale_partitions_of_chosen_slices_are_restated(self, sliced: Site) -> None:
        _made(sliced)
        _land(sliced, "oslo", "--again")
        for by, count in (({"store": "graz"}, 0), ({"store": ["oslo"]}, 1)):
            answer = _asks(sliced, "/api/partitions/restate", {"table": "sales", "by": by})
            assert len(answer["submissions"]) == count
        (entry,) = [each for each in _asks(sliced, "/api/audit")["audit"] if each["action"] == "restate"]
        assert entry["target"] == {"table": "sales", "partitions": [], "by": {"store": ["oslo"]}}
        for wrong in ({"by": {"store": "oslo"}}, {"table": "sales", "by": {"shop": "oslo"}}):
            assert _asks(sliced, "/api/partitions/restate", wrong)["status"] in (404, 422)

    def test_the_grid_and_its_cells_are_about_slices(self, sliced: Site) -> None:
        _made(sliced)
        window = {"from": "2024-04-01", "to": "2024-04-02"}
        rows = {each["table"]: each for each in _asks(sliced, "/api/partitions/grid", **window)["rows"]}
        assert [*rows] == [
            *("events[store=graz]", self.SLICE, "sales[store=graz]", "sales[store=oslo]", "total"),
        ]
        assert (rows["sales[store=oslo]"]["app"], rows["sales[store=oslo]"]["cells"]) == ("sales", "##")
        assert [each["table"] for each in _asks(sliced, "/api/partitions")["tables"]] == [*rows]
        cell = _asks(sliced, "/api/partitions/cell", table="sales[store=oslo]", partition="2024-04-01")
        assert (cell["app"], cell["by"], cell["there"]) == ("sales", {"store": "oslo"}, True)
        whole = _asks(sliced, "/api/partitions/cell", table="total", partition="2024-04-01")
        assert whole["by"] == {}

    def test_the_key_of_a_slice_is_one_part_of_an_address(self, sliced: Site) -> None:
        _made(sliced)
        cell = _asks(sliced, "/api/partitions/cell", table="sales[store=oslo]", partition="2024-04-01")
        page = _asks(sliced, f"/api/jobs/sales/{quote(cell['key'], safe='')}")
        assert (page["key"], page["state"]) == (cell["key"], "succeeded")
        assert page["key"].startswith("oslo/2024-04-01@")

    def test_the_page_of_a_job_names_the_slice_that_it_waits_for(self, sliced: Site) -> None:
        sliced.world.submit("sales", None, start="2024-04-01", end="2024-04-01", by={"store": "oslo"})
        (job,) = (each for each in _asks(sliced, "/api/jobs", app="sales")["jobs"])
        page = _asks(sliced, f"/api/jobs/sales/{quote(job['key'], safe='')}")
        assert [[*each[:2]] for each in page["parents"]] == [[self.SLICE, "2024-04-01"]]
        waiting = _asks(sliced, f"/api/jobs/{quote(self.SLICE, safe='')}/2024-04-01")
        assert (waiting["app"], waiting["state"]) == (self.SLICE, "expected")
        why = _asks(sliced, f"/api/jobs/sales/{quote(job['key'], safe='')}/why")
        assert f"{self.SLICE}/2024-04-01" in str(why)
