"""``sluice grid``: a submission's apps by partition."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from sluice.jobs.keys.calendar import Calendar, Span, Unit
from sluice.jobs.model.job import Ending
from sluice.jobs.states import State
from sluice.ledger.reads.by_partition.table_partitions import CellCounts, TableVersion
from sluice.ops.cli.main import main
from sluice.ops.documents.grid import (
    MARKS,
    NOT_NEEDED,
    NOTHING,
    PARTLY,
    THERE,
    PartitionRow,
    axis,
    mark,
    strip,
)
from tests.ops.site import Site
from tests.ops.weeks import APPS, WEEK, asked_for, finish, land, stage


def test_each_app_has_a_line_of_its_partitions(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    asked_for(site)
    finish(site, "staging", "2024-03-30", "2024-03-31", "2024-04-01")
    site.world.claim(next(name for name in site.world.ready() if "2024-04-02" in name))
    assert main(["grid", "week"]) == 0
    assert capfd.readouterr().out.splitlines() == [
        "staging  ###>+++++",
        "grouped    .......",
        "joined     .......",
        "         a column is one day: # exists, > is being made, + may be made, . waits",
        "",
        "app      from        to          partitions  outcome",
        "staging  2024-03-30  2024-04-07  9           3 succeeded, 5 ready, 1 running",
        "grouped  2024-04-01  2024-04-07  7           7 waiting",
        "joined   2024-04-01  2024-04-07  7           7 waiting",
    ]


def test_stale_partitions_have_a_mark_of_their_own(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    asked_for(site)
    stage(site)
    land(site, WEEK)
    finish(site, "grouped", WEEK)
    finish(site, "joined", *(f"2024-04-{day:02}" for day in range(1, 8)))
    site.says("partitions", "land", "events", "2024-04-03", "--again")
    site.world.submit("joined", None, start="2024-04-03", end="2024-04-03", id="again")
    capfd.readouterr()
    assert main(["grid", "week"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[1:3] == ["grouped    ##+####", "joined     ##.####"]
    finish(site, "grouped", "2024-04-03")
    site.says("partitions", "land", "events", "2024-04-05", "--again")
    assert main(["grid", "week"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[1:4] == [
        "grouped    ####~##",
        "joined     ##+#~##",
        "         a column is one day: # exists, ~ is stale, + may be made",
    ]
    _, grouped, _ = site.says("grid", "week")["apps"]
    assert [cell["stale"] for cell in grouped["cells"]] == [0, 0, 0, 0, 1, 0, 0]
    assert grouped["counts"] == {State.SUCCEEDED: 7}


def test_the_document_counts_states_by_cell(site: Site) -> None:
    asked_for(site)
    finish(site, "staging", "2024-04-01", ending=Ending.ERROR)
    staging, grouped, _ = site.says("grid", "week")["apps"]
    assert (staging["app"], staging["unit"], staging["first"], staging["last"]) == (
        "staging",
        "day",
        "2024-03-30",
        "2024-04-07",
    )
    assert staging["counts"] == {State.READY: 8, State.FAILED: 1}
    assert staging["cells"][2] == {
        "from": "2024-04-01",
        "to": "2024-04-01",
        "counts": {State.FAILED: 1},
        "stale": 0,
    }
    assert grouped["counts"] == {State.UPSTREAM_FAILED: 7}


def test_too_many_partitions_share_columns(site: Site) -> None:
    site.define(APPS)
    site.world.submit("staging", None, start="2024-01-01", end="2024-04-30", id="long")
    finish(site, "staging", "2024-01-02")
    (staging,) = site.says("grid", "long", "--columns", "20")["apps"]
    assert [cell["from"] for cell in staging["cells"][:3]] == ["2024-01-01", "2024-01-08", "2024-01-15"]
    assert staging["cells"][0]["counts"] == {State.READY: 6, State.SUCCEEDED: 1}
    assert (staging["cells"][-1]["from"], staging["cells"][-1]["to"]) == ("2024-04-29", "2024-04-30")
    assert sum(sum(cell["counts"].values()) for cell in staging["cells"]) == 121


def test_landed_partitions_and_partitions_of_other_submissions_are_shown(site: Site) -> None:
    site.define(APPS)
    site.says("partitions", "land", "staging", "2024-04-01..2024-04-02")
    site.world.submit("staging", None, start="2024-04-03", end="2024-04-03")
    site.world.submit("staging", None, start="2024-04-01", end="2024-04-04", id="all")
    (staging,) = site.says("grid", "all")["apps"]
    assert [cell["counts"] for cell in staging["cells"]] == [
        *[{State.SUCCEEDED: 1}] * 2,
        *[{State.READY: 1}] * 2,
    ]


def test_a_grid_shows_partitions_that_all_existed_before(site: Site) -> None:
    site.define(APPS)
    site.says("partitions", "land", "staging", WEEK)
    site.world.submit("staging", None, start="2024-04-01", end="2024-04-07", id="none")
    (staging,) = site.says("grid", "none")["apps"]
    assert staging["counts"] == {State.SUCCEEDED: 7}


def test_a_failed_partition_that_another_submission_made_counts_as_succeeded(site: Site) -> None:
    site.define(APPS)
    days = {"start": "2024-04-01", "end": "2024-04-02"}
    site.world.submit("staging", None, id="first", **days)
    finish(site, "staging", "2024-04-01", ending=Ending.ERROR)
    site.world.submit("staging", None, id="second", **days)
    finish(site, "staging", "2024-04-01", "2024-04-02")
    (staging,) = site.says("grid", "first")["apps"]
    assert staging["counts"] == {State.SUCCEEDED: 2}


def test_a_submission_without_partitions_has_no_grid(site: Site) -> None:
    site.chain("a")
    site.world.submit("a", id="one")
    assert site.says("grid", "one") == {"apps": []}
    assert site.says("grid", "two", code=2)["error"]["what"] == "There is no submission two."


def test_external_tables_have_no_line(site: Site) -> None:
    asked_for(site)
    land(site, WEEK)
    assert [each["app"] for each in site.says("grid", "week")["apps"]] == ["staging", "grouped", "joined"]


SHOPS = {
    "fetch": {
        "job_id": "{shop}_{date}",
        "identifiers": {"date": "date"},
        "autofill_values": {"shop": ["graz", "oslo"]},
        "bash_cmd": "true",
    },
    "report": {
        "job_id": "{date}",
        "identifiers": {"date": "date"},
        "depends_on": {"app_name": ["fetch"], "shop": "all"},
        "bash_cmd": "true",
    },
    "summary": {"job_id": "{name}", "autofill_values": {"name": ["all"]}, "bash_cmd": "true"},
}


def test_apps_with_a_date_in_their_keys_are_shown_by_day(
    site: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    site.define(SHOPS)
    site.world.submit("report", None, start="2024-04-01", end="2024-04-04", id="backfill")
    finished = {"graz_20240401": Ending.DONE, "oslo_20240401": Ending.DONE, "oslo_20240402": Ending.ERROR}
    for key, ending in finished.items():
        site.world.finish(f"fetch/{key}", ending)
    site.world.claim("fetch/graz_20240403")
    assert main(["grid", "backfill"]) == 0
    assert capfd.readouterr().out.splitlines() == [
        "fetch   #!>+",
        "report  +^..",
        (
            "        a column is one day: # exists, ! did not succeed, > is being made, + may be made,"
            " ^ upstream failed, . waits"
        ),
        "",
        "app     from        to          days  outcome",
        "fetch   2024-04-01  2024-04-04  4     1 succeeded, 1 ready, 1 running, 1 failed",
        "report  2024-04-01  2024-04-04  4     2 waiting, 1 ready, 1 upstream_failed",
    ]
    fetch, _ = site.says("grid", "backfill")["apps"]
    assert fetch["cells"][1] == {
        "from": "2024-04-02",
        "to": "2024-04-02",
        "counts": {State.FAILED: 1},
        "stale": 0,
    }


def test_requested_days_without_jobs_are_shown(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    site.define(
        {
            "weekly": {
                "job_id": "{date}",
                "identifiers": {"date": "date"},
                "bash_cmd": "true",
                "autofill_values": {"date": "2024-04-01:2024-05-01:7"},
            }
        }
    )
    site.world.submit("weekly", None, start="2024-04-01", end="2024-04-10", id="some")
    assert main(["grid", "some"]) == 0
    assert capfd.readouterr().out.splitlines()[0] == "weekly  +------+--"


def test_a_key_of_an_earlier_template_has_no_day(site: Site) -> None:
    site.define({"a": {"job_id": "{n}", "bash_cmd": "true"}})
    site.world.submit("a", "7", id="old")
    site.define({"a": {"job_id": "{date}", "identifiers": {"date": "date"}, "bash_cmd": "true"}})
    assert site.says("grid", "old") == {"apps": []}


@pytest.mark.parametrize(
    ("rows", "columns", "unit", "size", "count"),
    [
        ([("day", "2024-04-01", "2024-04-30")], 30, "day", 1, 30),
        ([("day", "2024-04-01", "2024-04-30")], 29, "day", 7, 5),
        ([("hour", "2024-04-01-00", "2024-04-03-23")], 72, "hour", 1, 72),
        ([("hour", "2024-04-01-00", "2024-04-03-23")], 30, "hour", 3, 24),
        ([("hour", "2024-04-01-00", "2024-04-03-23"), ("day", "2024-04-01", "2024-04-02")], 72, "day", 1, 3),
        ([("day", "2024-04-15", "2024-06-02"), ("month", "2024-04", "2024-05")], 72, "month", 1, 3),
        ([("day", "2024-04-15", "2024-06-02"), ("week", "2024-W16", "2024-W22")], 72, "week", 1, 7),
        ([("week", "2024-W01", "2025-W04")], 20, "week", 4, 15),
        ([("week", "2024-W16", "2024-W22"), ("month", "2024-04", "2024-05")], 72, "month", 1, 3),
        ([("month", "2020-01", "2024-12")], 10, "month", 12, 5),
        ([("day", "1824-01-01", "2024-01-01")], 100, "day", 7 * 128, 83),
    ],
)
def test_columns_are_as_long_as_the_longest_partitions_or_longer(
    rows: Iterable[tuple[Unit, str, str]], columns: int, unit: Unit, size: int, count: int
) -> None:
    shown = [_row(*row) for row in rows]
    found = axis(shown, columns)
    assert (found.unit, found.size, len(found.starts_s) - 1) == (unit, size, count)
    for row in shown:
        laid = strip(row, found)
        assert sum(map(len, laid.stretches)) == len(row.span)
        assert laid.before + len(laid.stretches) <= count


def test_hours_are_aligned_with_their_days() -> None:
    days, hours = _row("day", "2024-04-01", "2024-04-03"), _row("hour", "2024-04-02-05", "2024-04-03-04")
    laid = strip(hours, axis([days, hours], 80))
    assert (laid.before, [len(each) for each in laid.stretches]) == (1, [19, 5])


@pytest.mark.parametrize(
    ("columns", "words"), [(80, "one hour"), (30, "2 hours"), (10, "6 hours"), (3, "one day"), (1, "7 days")]
)
def test_the_length_of_a_column_is_in_the_longest_unit(columns: int, words: str) -> None:
    assert axis([_row("hour", "2024-04-02-05", "2024-04-03-22")], columns).in_words == words


@pytest.mark.parametrize(
    ("counts", "sign"),
    [
        ({}, NOTHING.sign),
        ({State.SUCCEEDED: 2}, THERE.sign),
        ({State.SUCCEEDED: 1}, PARTLY.sign),
        ({State.SUCCEEDED: 1, State.WAITING: 1}, "."),
        ({State.READY: 1, State.WAITING: 1}, "+"),
        ({State.RUNNING: 1, State.READY: 1}, ">"),
        ({State.TIMED_OUT: 1, State.RUNNING: 1}, "!"),
        ({State.UPSTREAM_FAILED: 1, State.SUCCEEDED: 1}, "^"),
        ({State.CANCELLED: 1, State.SUCCEEDED: 1}, "x"),
        ({State.SKIPPED: 1, State.SUCCEEDED: 1}, THERE.sign),
        ({State.SKIPPED: 2}, "s"),
    ],
)
def test_a_cell_shows_the_state_that_needs_the_most_attention(counts: dict[State, int], sign: str) -> None:
    assert mark(Span(1, 2), CellCounts(counts)).sign == sign


def test_only_succeeded_has_the_sign_of_existing_partitions() -> None:
    signs = {state: mark(Span(1, 1), CellCounts({state: 1})) for state in State if state is not State.SPLIT}
    assert [state for state, its in signs.items() if its is THERE] == [State.SUCCEEDED]


def test_the_page_on_backfills_explains_every_sign() -> None:
    page = (Path(__file__).parents[2] / "docs" / "backfill.md").read_text()
    signs = {each.sign for _, each in MARKS} | {THERE.sign, PARTLY.sign, NOTHING.sign, NOT_NEEDED.sign}
    assert [sign for sign in sorted(signs) if f"`{sign}`" not in page] == []


def _row(unit: Unit, first: str, last: str) -> PartitionRow:
    calendar = Calendar(unit)
    return PartitionRow(
        "app", TableVersion("table", "version"), calendar, Span(calendar.read(first), calendar.read(last))
    )
