"""Partitions in an operator's commands: existing and missing ones, the jobs that make them, and the remedies."""

import json
from threading import Event
from typing import Any

import pytest

from sluice.actors.executor.job_services import PartitionAcknowledger
from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ops.cli.main import main
from sluice.ops.console.access import AccessControl
from sluice.ops.console.http_message import Request
from tests.ops.console_client import HERE, TOKEN, console_of, told
from tests.ops.site import Site
from tests.ops.weeks import APPS, WEEK, asked_for, finish, job, land, stage


class TestOneJob:
    def test_a_partition_names_the_job_that_makes_it(self, site: Site) -> None:
        asked_for(site)
        whole = site.says("show", "grouped", "2024-04-03")
        assert (whole["key"], whole["span"], whole["done"]) == (
            job(site, "grouped", WEEK).partition("/")[2],
            ["2024-04-01", "2024-04-07"],
            [],
        )
        assert site.says("show", "grouped", WEEK) == whole
        assert site.says("show", "grouped", "2024-04-02..2024-04-05") == whole

    def test_show_lists_the_partitions_that_a_job_has_made(self, site: Site) -> None:
        asked_for(site)
        stage(site)
        land(site, WEEK)
        claimed = site.world.claim(job(site, "grouped", WEEK))
        assert claimed is not None
        acknowledging = PartitionAcknowledger(site.world.ledger, claimed.right, Calendar("day"), Event())
        for day in ("2024-04-01", "2024-04-02", "2024-04-05"):
            acknowledging.acknowledge(day)
        assert site.says("show", "grouped", "2024-04-03")["done"] == ["2024-04-01..2024-04-02", "2024-04-05"]
        told = site.in_words("grouped/2024-04-03", "show")
        assert "existing partitions: 2024-04-01..2024-04-02, 2024-04-05" in told

    def test_partitions_of_several_jobs_name_no_job(self, site: Site) -> None:
        asked_for(site)
        error = site.says("show", "joined", "2024-04-01..2024-04-02", code=2)["error"]
        assert error["what"].startswith(
            "2024-04-01..2024-04-02 of joined is not the work of one job: 2024-04-01@"
        )

    def test_a_landed_partition_names_no_job(self, site: Site) -> None:
        site.define(APPS)
        assert site.says("partitions", "land", "grouped", "2024-04-01")["landed"] == 1
        error = site.says("show", "grouped", "2024-04-01", code=2)["error"]
        assert error["what"] == "No job made 2024-04-01 of grouped: it came from elsewhere."

    def test_ls_has_spans_for_jobs_but_not_for_external_partitions(self, site: Site) -> None:
        asked_for(site)
        (grouped,) = site.says("ls", "--app", "grouped")
        assert grouped["span"] == ["2024-04-01", "2024-04-07"]
        assert "span" not in site.says("ls", "--app", "events")[0]

    def test_cancel_and_retry_accept_a_partition(self, site: Site) -> None:
        asked_for(site)
        assert site.says("cancel", "grouped", "2024-04-03")["cancelled"] == 1
        assert site.world.state(job(site, "grouped", WEEK)) is State.CANCELLED
        assert site.says("retry", "grouped", "2024-04-03")["state"] == SubmissionState.RECEIVED
        site.world.tick(after_s=60)
        assert site.world.state(job(site, "grouped", WEEK)) is State.WAITING

    def test_a_key_with_a_version_finds_the_job_of_that_version(self, site: Site) -> None:
        asked_for(site)
        old = job(site, "grouped", WEEK).partition("/")[2]
        site.define(APPS | {"staging": APPS["staging"] | {"bash_cmd": "false"}})
        assert site.says("show", "grouped", old)["state"] == State.WAITING
        assert "is of version" in site.says("show", "grouped", "2024-04-03@0000", code=2)["error"]["what"]
        assert "has no job" in site.says("show", "grouped", "2024-04-03", code=2)["error"]["what"]


class TestWhy:
    def test_missing_inputs_are_named_with_the_command_to_land_them(self, site: Site) -> None:
        asked_for(site)
        stage(site)
        land(site, "2024-04-01..2024-04-05")
        why = site.why("grouped/2024-04-03")
        assert why["because"].endswith("waits for 2 partitions that have not landed")
        assert [each["what"] for each in why["waits_for"]] == [
            "events/2024-04-06 to land",
            "events/2024-04-07 to land",
        ]
        assert why["remedies"] == [
            {
                "command": "sluice partitions land events 2024-04-06 2024-04-07",
                "effect": "marks them as landed",
            }
        ]

    def test_a_missing_input_is_explained_from_downstream_and_by_itself(self, site: Site) -> None:
        asked_for(site)
        stage(site)
        land(site, "2024-04-01..2024-04-06")
        below = site.why("joined/2024-04-03")
        assert below["waits_for"][-1]["what"].startswith("events/2024-04-07, which is an external partition")
        assert below["remedies"][0]["command"] == "sluice partitions land events 2024-04-07"
        itself = site.why("events/2024-04-07")
        assert "has not landed; grouped/" in itself["because"]
        assert main(itself["remedies"][0]["command"].split()[1:]) == 0
        site.world.tick(after_s=60)
        assert site.world.state(job(site, "grouped", WEEK)) is State.READY

    def test_a_cumulative_table_may_land_a_later_partition(self, site: Site) -> None:
        site.define(
            {"g": {"bash_cmd": "true", "table_dependencies": [{"table": "users", "cumulative": True}]}}
        )
        site.world.submit("g", None, start="2024-04-03", end="2024-04-03")
        why = site.why("g/2024-04-03")
        assert why["waits_for"][0]["what"] == "users/2024-04-03, or a later one, to land"
        assert why["remedies"][0]["command"] == "sluice partitions land users 2024-04-03"

    def test_an_unplanned_range_is_named_as_a_possible_request(self, site: Site) -> None:
        site.define(APPS)
        site.says("submit", "staging", "--start", "2024-04-01", "--end", "2024-04-03")
        why = site.why("staging/2024-04-02")
        assert why["because"].endswith(
            "no submission has requested it, unless it is in a submission that is not planned yet"
        )
        assert [each["kind"] for each in why["waits_for"]] == ["submission"]

    def test_jobs_without_partitions_have_no_advice_to_land(self, site: Site) -> None:
        site.chain("a -> b")
        site.world.submit("b", "1", push="wanted")
        assert "land" not in str(site.why("b"))


class TestRetryingASubmission:
    def test_a_retry_makes_only_the_missing_partitions(self, site: Site) -> None:
        asked_for(site)
        stage(site)
        land(site, WEEK)
        finish(site, "grouped", WEEK)
        days = [f"2024-04-{day:02}" for day in range(1, 8)]
        finish(site, "joined", *days[:5])
        finish(site, "joined", *days[5:], ending=Ending.ERROR)
        again = site.says("retry", "week")["submission"]
        site.world.tick(after_s=60)
        assert site.world.ready() == {job(site, "joined", day) for day in days[5:]}
        finish(site, "joined", *days[5:])
        assert site.world.submission(again) is SubmissionState.SUCCEEDED
        error = site.says("retry", again, code=2)["error"]
        assert error["what"] == f"Submission {again} is succeeded: none of its jobs has to be run again."

    def test_a_retry_keeps_the_id_and_the_request(self, site: Site) -> None:
        site.define(APPS)
        words = {"start": "2024-04-01", "end": "2024-04-02", "rerun": "job", "user": "ann"}
        site.world.submit("staging", None, id="two", **words)
        site.world.cancel("two")
        assert "--rerun downstream" in site.says("retry", "two", "--downstream", code=2)["error"]["advice"]
        assert site.says("retry", "two")["submission"] == "two"
        rows = site.world.ledger.transact(
            lambda tx: tx.column("SELECT request FROM submission WHERE id = 'two'")
        )
        assert {word: rows[0].get(word) for word in words} == words

    def test_a_retry_makes_a_succeeded_partition_again(self, site: Site) -> None:
        site.define(APPS)
        site.world.submit("staging", None, start="2024-04-01", end="2024-04-01")
        finish(site, "staging", "2024-04-01")
        site.says("retry", "staging", "2024-04-01")
        site.world.tick(after_s=60)
        assert site.world.ready() == {job(site, "staging", "2024-04-01")}


def _all_made(site: Site) -> None:
    asked_for(site)
    stage(site)
    land(site, WEEK)
    finish(site, "grouped", WEEK)
    finish(site, "joined", *(f"2024-04-{day:02}" for day in range(1, 8)))


def asks(site: Site, method: str, path: str, document: object = None) -> Any:
    body = b"" if document is None else json.dumps(document).encode()
    request = Request(method=method, path=path, query="", headers=HERE, body=body)
    return told(console_of(site.world, AccessControl(TOKEN)).answer(request))


class TestLandingAgain:
    def test_the_answer_counts_stale_partitions_and_names_the_command_for_them(
        self, site: Site, capfd: pytest.CaptureFixture[str]
    ) -> None:
        _all_made(site)
        capfd.readouterr()
        assert main(["partitions", "land", "events", "2024-04-03", "2024-04-09", "--again"]) == 0
        assert capfd.readouterr().out.splitlines() == [
            "1 partition of events has landed now and had not before.",
            "1 partition of events has landed again.",
            "Stale now: 1 of grouped, 1 of joined.",
            "`sluice partitions restate` makes stale partitions again.",
        ]

    def test_restate_makes_stale_partitions_again(self, site: Site) -> None:
        _all_made(site)
        assert site.says("partitions", "restate") == {"submissions": []}
        found = site.says("partitions", "land", "events", "2024-04-03", "--again")
        assert found == {"table": "events", "landed": 0, "again": 1, "stale": {"grouped": 1, "joined": 1}}
        assert site.says("partitions", "restate", "events", "2024-04-04") == {"submissions": []}
        ids = site.says("partitions", "restate", "events", "2024-04-03")["submissions"]
        site.world.tick(after_s=60)
        finish(site, "grouped", "2024-04-03")
        finish(site, "joined", "2024-04-03")
        assert [site.world.submission(id_) for id_ in ids] == [SubmissionState.SUCCEEDED] * 2
        assert site.says("partitions", "restate") == {"submissions": []}

    def test_the_console_makes_stale_partitions_again_and_records_the_act(self, site: Site) -> None:
        _all_made(site)
        assert asks(site, "POST", "/api/partitions/restate", {}) == {"submissions": []}
        site.says("partitions", "land", "events", "2024-04-03", "2024-04-05", "--again")
        one = {"table": "events", "partitions": ["2024-04-03"]}
        ids = asks(site, "POST", "/api/partitions/restate", one)["submissions"]
        assert len(ids) == 2
        site.world.tick(after_s=60)
        finish(site, "grouped", "2024-04-03")
        finish(site, "joined", "2024-04-03")
        assert [site.world.submission(id_) for id_ in ids] == [SubmissionState.SUCCEEDED] * 2
        assert len(asks(site, "POST", "/api/partitions/restate", {})["submissions"]) == 2
        entries = [each for each in asks(site, "GET", "/api/audit")["audit"] if each["action"] == "restate"]
        assert [(each["action"], each["target"]) for each in entries] == [
            ("restate", {"table": None, "partitions": []}),
            ("restate", one),
        ]
        assert entries[1]["result"] == {"submissions": sorted(ids)}
        for wrong in (
            {"table": "none"},
            {"partitions": ["2024-04-03"]},
            {"table": "events", "partitions": ["x"]},
        ):
            assert asks(site, "POST", "/api/partitions/restate", wrong)["status"] in (404, 422)

    def test_restate_refuses_unknown_tables_and_partitions(self, site: Site) -> None:
        site.define(APPS)
        what = site.says("partitions", "restate", "event", code=2)["error"]["what"]
        assert what == "No app fills or reads a table 'event' (did you mean events?)."
        what = site.says("partitions", "restate", "events", "April", code=2)["error"]["what"]
        assert what.startswith("It is not a partition of events: 'April' is no day")


class TestListing:
    def test_tables_have_counts_of_existing_active_and_missing_partitions(self, site: Site) -> None:
        asked_for(site)
        finish(site, "staging", "2024-03-30", "2024-04-01")
        finish(site, "staging", "2024-04-03", ending=Ending.ERROR)
        land(site, "2024-04-01..2024-04-02", "2024-04-05", "2024-04-09")
        said = {each["table"]: each for each in site.says("partitions", "ls")}
        assert [*said] == ["events", "staging", "grouped", "joined"]
        told = "app", "first", "last", "there", "under_way", "missing", "holes"
        assert [said["events"].get(word) for word in told] == [None, "2024-04-01", "2024-04-09", 4, 0, 5, 2]
        assert [said["staging"].get(word) for word in told] == [
            *("staging", "2024-03-30", "2024-04-07"),
            *(2, 6, 1, 1),
        ]
        assert [said["grouped"].get(word) for word in told] == ["grouped", None, None, 0, 0, 0, 0]

    def test_one_table_is_listed_in_runs_of_partitions(self, site: Site) -> None:
        asked_for(site)
        finish(site, "staging", "2024-03-30", "2024-03-31")
        finish(site, "staging", "2024-04-02", ending=Ending.ERROR)
        told = site.says("partitions", "ls", "staging", "--from", "2024-03-29", "--to", "2024-04-03")
        runs = [(*run["span"], run["is"], run.get("makers"), run.get("state")) for run in told["runs"]]
        assert runs == [
            ("2024-03-29", "2024-03-29", "missing", None, None),
            ("2024-03-30", "2024-03-31", "there", 2, None),
            ("2024-04-01", "2024-04-01", "under way", None, State.READY),
            ("2024-04-02", "2024-04-02", "missing", None, State.FAILED),
            ("2024-04-03", "2024-04-03", "under way", None, State.READY),
        ]
        assert (told["there"], told["under_way"], told["missing"]) == (2, 2, 1)
        assert told["runs"][3]["job"] == ["staging", job(site, "staging", "2024-04-02").partition("/")[2]]

    def test_landed_partitions_are_marked(self, site: Site) -> None:
        site.define(APPS)
        land(site, "2024-04-01", "2024-04-03")
        runs = site.says("partitions", "ls", "events")["runs"]
        assert [(run["span"][0], run["is"], run.get("landed")) for run in runs] == [
            ("2024-04-01", "there", True),
            ("2024-04-02", "missing", None),
            ("2024-04-03", "there", True),
        ]

    def test_stale_partitions_are_listed_as_runs_of_their_own(self, site: Site) -> None:
        _all_made(site)
        site.says("partitions", "land", "events", "2024-04-03", "2024-04-04", "--again")
        said = {each["table"]: each for each in site.says("partitions", "ls")}
        assert [(each["there"], each["stale"]) for each in said.values()] == [(7, 0), (9, 0), (7, 2), (7, 2)]
        runs = site.says("partitions", "ls", "grouped")["runs"]
        assert [(*run["span"], run["is"]) for run in runs] == [
            ("2024-04-01", "2024-04-02", "there"),
            ("2024-04-03", "2024-04-04", "stale"),
            ("2024-04-05", "2024-04-07", "there"),
        ]

    def test_partitions_of_another_version_are_not_listed(self, site: Site) -> None:
        site.define(APPS)
        site.says("partitions", "land", "staging", "2024-04-01")
        assert site.says("partitions", "ls", "staging")["there"] == 1
        site.define(APPS | {"staging": APPS["staging"] | {"bash_cmd": "false"}})
        assert site.says("partitions", "ls", "staging")["runs"] == []

    @pytest.mark.parametrize(
        ("words", "what"),
        [
            (("ls", "event"), "No app fills or reads a table 'event' (did you mean events?)."),
            (
                ("ls", "events", "--from", "April"),
                "--from or --to is not a partition of events: 'April' is no day",
            ),
            (("ls", "--to", "2024-04-01"), "--from and --to need a table."),
            (("land", "events", "2024-04-07..2024-04-01"), "It is not a partition of events:"),
        ],
    )
    def test_invalid_tables_and_ranges_are_refused(
        self, site: Site, words: tuple[str, ...], what: str
    ) -> None:
        site.define(APPS)
        assert site.says("partitions", *words, code=2)["error"]["what"].startswith(what)


def test_a_partition_lands_only_once(site: Site) -> None:
    site.define(APPS)
    assert land(site, "2024-04-01..2024-04-03", "2024-04-03") == 3
    assert land(site, "2024-04-03", "2024-04-04") == 1


class TestRelatives:
    def test_parents_are_the_partitions_that_a_job_reads(self, site: Site) -> None:
        site.define(APPS)
        assert site.says("parents", "grouped", "2024-04-01..2024-04-02") == [
            {
                "group": "default",
                "jobs": [
                    ["events", "2024-04-01"],
                    ["events", "2024-04-02"],
                    ["staging", "2024-03-30"],
                    ["staging", "2024-03-31"],
                    ["staging", "2024-04-01"],
                    ["staging", "2024-04-02"],
                ],
            }
        ]
        assert site.says("parents", "staging", "2024-04-01") == []

    def test_children_are_the_partitions_that_read_it(self, site: Site) -> None:
        site.define(APPS)
        days = "2024-04-01", "2024-04-02", "2024-04-03"
        assert site.says("children", "staging", "2024-04-01") == [["grouped", day] for day in days]
        assert site.says("children", "events", "2024-04-01") == [["grouped", "2024-04-01"]]
        assert site.says("children", "joined", "2024-04-01") == []

    def test_an_unbounded_range_is_marked_as_such(self, site: Site) -> None:
        reads = [{"table": "events", "start_offset": None}]
        site.define({"g": {"bash_cmd": "true", "table_dependencies": reads}})
        (gate,) = site.says("parents", "g", "2024-04-01")
        assert (gate["jobs"], gate["and_before"]) == ([["events", "2024-04-01"]], ["events"])
        assert "and all later" in site.in_words("events/2024-04-01", "children")


def test_a_schedule_submits_the_day_before(site: Site) -> None:
    nightly = {
        "app": "staging",
        "cron": "0 2 * * *",
        "start": "{due-1d:%Y-%m-%d}",
        "end": "{due-1d:%Y-%m-%d}",
    }
    site.define(APPS | {"schedules": {"nightly": nightly}})
    fired = site.says("schedules", "fire", "nightly", "--due", "2024-04-02T02:00:00Z")["submission"]
    site.world.tick(after_s=60)
    assert site.world.ready() == {job(site, "staging", "2024-04-01")}
    (told,) = site.says("submissions")
    assert (told["id"], told["start"], told["end"]) == (fired, "2024-04-01", "2024-04-01")


def test_a_submission_by_range_is_listed_with_its_range(
    site: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    asked_for(site)
    (told,) = site.says("submissions")
    assert (told["start"], told["end"]) == ("2024-04-01", "2024-04-07")
    assert main(["submissions"]) == 0
    assert "joined from 2024-04-01 to 2024-04-07" in capfd.readouterr().out
