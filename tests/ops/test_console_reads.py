"""Read calls of the console by HTTP, on a ledger with data of every kind."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from sluice.jobs.model.names import JobName
from tests.ops.caller import Caller, console, names
from tests.ops.long_histories import lengthen
from tests.ops.orders import drained, waiting
from tests.ops.typist import Typist
from tests.ops.weeks import APPS as TABLES

SCHEDULES = {"schedules": [{"id": "nightly", "app": "fetch", "cron": "0 2 * * *", "key": "20261120_oslo"}]}


@pytest.fixture(scope="module")
def stocked(orders: Typist) -> Typist:
    """Return a folder with three dependent jobs of which the last fails, a waiting saga, and tables with two requested
    days.
    """
    orders.apps("tables.json", TABLES)
    orders.apps("times.json", SCHEDULES)
    orders.environment["SLUICE_APPS"] = "orders.py,apps.json,tables.json,times.json"
    orders.asks("submit", "publish", "2026-11-20", "--id", "first", "--user", "ana")
    waiting(orders, "41")
    orders.asks("partitions", "land", "events", "2024-04-01..2024-04-07")
    orders.asks("submit", "joined", "--start", "2024-04-01", "--end", "2024-04-02", "--id", "days")
    drained(orders)
    return orders


@pytest.fixture(scope="module")
def caller(stocked: Typist) -> Iterator[Caller]:
    with console(stocked) as caller:
        yield caller


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/api/jobs/report/2026-11-20", ["show", "report", "2026-11-20"]),
        ("/api/jobs/order/41", ["show", "order", "41"]),
        ("/api/jobs/publish/2026-11-20/why", ["why", "publish", "2026-11-20"]),
        ("/api/jobs/mail/2026-11-20/why", ["why", "mail", "2026-11-20"]),
        ("/api/jobs/order/41/saga", ["saga", "show", "order", "41"]),
        ("/api/workers", ["workers"]),
    ],
)
def test_a_call_returns_the_document_of_the_command(
    path: str, words: list[str], caller: Caller, stocked: Typist
) -> None:
    assert caller.reads(path) == stocked.types(*words, "--json").document


def test_earlier_rounds_have_the_length_of_their_output_only(caller: Caller, stocked: Typist) -> None:
    found = caller.reads("/api/jobs/publish/2026-11-20")
    whole = stocked.asks("show", "publish", "2026-11-20")
    assert [(each["output"], each["output_bytes"]) for each in found["rounds"]] == [
        (None, 7),
        ("trying\n", 7),
    ]
    assert [(each["output"], each["output_bytes"]) for each in whole["rounds"]] == [("trying\n", 7)] * 2
    for each in (*found["rounds"], *whole["rounds"]):
        del each["output"], each["stderr"]
    assert whole.pop("record")["0:output"] == "trying\n"
    assert len(whole.pop("log")) > 2
    assert found == whole


def test_a_job_with_a_long_history_has_its_latest_entries_only(caller: Caller, stocked: Typist) -> None:
    stocked.asks("run", "nap", "0")
    stocked.ledger.transact(lambda tx: lengthen(tx, JobName("nap", "0")))
    told = caller.gets("/api/jobs/nap/0")
    assert len(told.body) < 200_000
    found = told.document
    assert found["counts"] == {"rounds": 2001, "history": 8005, "submissions": 121}
    rounds = found["rounds"]
    assert [each["claim"] for each in rounds] == [*range(1952, 2002)]
    assert {(each["output"], each["stderr"], each["output_bytes"]) for each in rounds[:-1]} == {
        (None, None, 6_000)
    }
    assert (len(rounds[-1]["output"]), rounds[-1]["stderr"]) == (6_000, "2001")
    assert (len(found["history"]), found["history"][-1]["round"]) == (200, 2000)
    assert found["submissions"] == [f"again {n}" for n in range(21, 121)]
    assert found.keys() & {"record", "log"} == set()
    assert caller.gets("/api/jobs/nap/0/rounds/7/stderr").body == b"7"
    assert len(caller.gets("/api/jobs/nap/0/rounds/7/output?download").body) == 6_000
    assert caller.gets("/api/jobs/nap/0/rounds/07/output").status == 404
    whole = stocked.asks("show", "nap", "0")
    assert whole["counts"] == {word: len(whole[word]) for word in ("rounds", "history", "submissions")}
    assert {len(each["output"]) for each in whole["rounds"][1:]} == {6_000}
    assert len(whole["log"]) > 2001


def test_an_app_has_the_counts_of_its_jobs(caller: Caller, stocked: Typist) -> None:
    found = caller.reads("/api/apps/fetch")
    assert found.pop("counts") == {"succeeded": 2}
    assert found == stocked.asks("apps", "show", "fetch")
    assert "fetch" in names(caller.reads("/api/apps")["apps"], "app")


def test_the_graph_of_the_apps_is_sent_once(caller: Caller) -> None:
    told = caller.gets("/api/graph")
    drawn = {each["name"]: each for each in told.document["apps"]}
    assert drawn["fetch"]["keyed_by"] == "template"
    assert drawn["staging"]["keyed_by"] == "partition"
    assert drawn["fetch"]["x"] < drawn["report"]["x"] < drawn["publish"]["x"]
    needs = {(each["parent"], each["child"]): each["path"] for each in told.document["needs"]}
    assert needs["fetch", "report"].startswith("M")
    assert all(0 <= each["x"] <= told.document["width"] - each["width"] for each in drawn.values())
    (table,) = told.document["tables"]
    assert (table["id"], table["table"]) == ("table events", "events")
    assert needs["table events", "grouped"].startswith("M")
    assert table["x"] < drawn["grouped"]["x"]
    again = caller.gets("/api/graph", If_None_Match=told.headers["ETag"])
    assert (again.status, again.body) == (304, b"")


def test_the_graph_of_a_job_has_its_upstream_and_downstream_jobs(caller: Caller) -> None:
    found = caller.reads("/api/jobs/report/2026-11-20/graph")
    assert found["focus"] == "report/20261120"
    assert {(each["app"], each["state"]) for each in found["jobs"]} == {
        ("fetch", "succeeded"),
        ("report", "succeeded"),
        ("publish", "failed"),
    }


def test_the_output_of_a_round_can_be_shown_and_downloaded(caller: Caller) -> None:
    rounds = caller.reads("/api/jobs/publish/2026-11-20")["rounds"]
    path = f"/api/jobs/publish/2026-11-20/rounds/{rounds[0]['claim']}/output"
    told = caller.gets(path)
    assert (told.body, told.headers["Content-Type"]) == (b"trying\n", "text/plain; charset=utf-8")
    kept = caller.gets(f"{path}?download")
    assert kept.body == b"trying\n"
    assert kept.headers["Content-Disposition"].startswith("attachment; ")
    assert caller.gets("/api/jobs/publish/2026-11-20/rounds/999/output").status == 404


def test_a_stored_output_can_be_downloaded_whole(caller: Caller, stocked: Typist) -> None:
    """The ledger keeps only the beginning and the end of a large output."""
    stocked.apps("loud.json", {"loud": {"job_id": "{n}", "bash_cmd": "seq 1 100000", "keep_output": True}})
    sources = {"SLUICE_APPS": "loud.json"}
    assert stocked.types("run", "loud", "1", **sources).code == 0
    path = "/api/jobs/loud/1/rounds/1/output"
    text = "".join(f"{n}\n" for n in range(1, 100_001)).encode()
    assert caller.gets(f"{path}?download").body == text
    assert len(caller.gets(path).body) < len(text)


def test_tables_are_listed_and_shown_in_one_grid(caller: Caller) -> None:
    tables = {each["table"]: each for each in caller.reads("/api/partitions")["tables"]}
    assert tables["joined"] == {
        "table": "joined",
        "app": "joined",
        "unit": "day",
        "first": "2024-04-01",
        "last": "2024-04-02",
        "landed": 2,
        "about": False,
    }
    assert tables["events"]["app"] is None
    grid = caller.reads("/api/partitions/grid?from=2024-03-30&to=2024-04-08")
    assert grid["columns"][0] == "2024-03-30"
    assert {each["table"]: each["cells"] for each in grid["rows"]} == {
        "events": "--#######-",
        "staging": "####------",
        "grouped": "--##------",
        "joined": "--##------",
    }
    assert (grid["legend"]["#"], grid["jobs"]) == ("succeeded", {"succeeded": 15})
    last = caller.reads("/api/partitions/grid")
    # The latest day is that of the jobs whose keys have a date.
    assert (len(last["columns"]), last["columns"][-1]) == (100, "2026-11-20")
    days = {
        each["table"]: (each["app"], each["day"], each["cells"][-1]) for each in last["rows"] if each["day"]
    }
    assert days == {
        "fetch": ("fetch", "date", "#"),
        "report": ("report", "date", "#"),
        "publish": ("publish", "date", "!"),
    }
    assert {len(each["cells"]) for each in last["rows"]} == {100}
    assert caller.reads("/api/partitions/grid?from=2024-03&to=2024-03")["columns"][-1] == "2024-03-31"


@pytest.mark.parametrize("query", ["from=soon", "to=2024-13-01", "from=2024-04-02&to=2024-04-01", "since=1"])
def test_a_grid_of_an_invalid_range_is_refused(query: str, caller: Caller) -> None:
    assert caller.gets(f"/api/partitions/grid?{query}").status == 400


def test_a_grid_cell_has_the_app_and_state_of_a_partition(caller: Caller) -> None:
    made = caller.reads("/api/partitions/cell?table=joined&partition=2024-04-01")
    assert (made["app"], made["state"], made["there"]) == ("joined", "succeeded", True)
    landed = caller.reads("/api/partitions/cell?table=events&partition=2024-04-01")
    assert (landed["app"], landed["there"]) == (None, True)
    nobodys = caller.reads("/api/partitions/cell?table=joined&partition=2030-01-01")
    assert (nobodys["app"], nobodys["there"], nobodys["since"]) == (None, False, None)
    assert caller.gets("/api/partitions/cell?table=joined&partition=April").status == 400
    assert caller.gets("/api/partitions/cell?table=none&partition=2024-04-01").status == 404


def test_submissions_have_their_progress(caller: Caller) -> None:
    found = caller.reads("/api/submissions?state=failed&state=succeeded&app=publish")
    assert names(found["submissions"], "id") == ["first"]
    progress = {"total": 4, "ended": 4, "failed": 1, "about": False}
    assert found["submissions"][0]["progress"] == progress
    whole = caller.reads("/api/submissions/first")
    assert (whole["user"], whole["jobs"]) == ("ana", {"succeeded": 3, "failed": 1})
    assert whole["request"]["key"] == "2026-11-20"
    assert caller.gets("/api/submissions/none").status == 404
    first = caller.reads("/api/submissions?limit=1")
    second = caller.reads(f"/api/submissions?limit=1&after={first['next']}")
    assert first["submissions"] != second["submissions"]
    assert caller.gets("/api/submissions?after=elsewhere").status == 400


def test_waiting_sagas_and_coming_due_times_are_listed(caller: Caller) -> None:
    (saga,) = caller.reads("/api/sagas")["sagas"]
    assert (saga["app"], saga["key"], saga["name"], saga["event"]) == ("order", "41", "Ask", "approved")
    (schedule,) = caller.reads("/api/schedules")["schedules"]
    assert len(schedule["coming"]) == 3
    assert all(due.endswith("T02:00:00Z") for due in schedule["coming"])


def test_jobs_are_found_by_filters_and_pages(caller: Caller) -> None:
    found = caller.reads("/api/jobs?app=fetch&state=succeeded&limit=1")
    more = caller.reads(f"/api/jobs?app=fetch&state=succeeded&limit=1&after={found['next']}")
    assert {each["key"] for each in [*found["jobs"], *more["jobs"]]} == {"20261120_graz", "20261120_oslo"}
    assert names(caller.reads("/api/jobs?key=4")["jobs"], "key") == ["41"]


def test_jobs_are_found_by_a_condition_with_and_without_other_filters(caller: Caller) -> None:
    where = "where=" + quote("ended > 1d and inputs.shop in (graz, oslo)")
    found = caller.reads(f"/api/jobs?{where}")
    assert set(names(found["jobs"], "key")) == {"20261120_graz", "20261120_oslo"}
    assert names(caller.reads(f"/api/jobs?{where}&key=20261120_g")["jobs"], "key") == ["20261120_graz"]
    refused = caller.gets("/api/jobs?where=" + quote("state = faild"))
    assert refused.status == 400
    assert "'faild' is no state" in refused.document["detail"]
    assert caller.gets("/api/jobs?after=elsewhere").status == 400


@pytest.mark.parametrize(
    "path",
    [
        "/api/apps/none",
        "/api/jobs/report/20200101",
        "/api/jobs/report/20200101/graph",
        "/api/jobs/report/20200101/saga",
        "/api/jobs/none/1/why",
        "/api/none",
    ],
)
def test_unknown_objects_are_a_problem_document(path: str, caller: Caller) -> None:
    told = caller.gets(path)
    assert (told.status, told.headers["Content-Type"]) == (404, "application/problem+json")
