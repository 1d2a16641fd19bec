"""``sluice schedules``: its subcommands and their output."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sluice.actors.scheduler import manual
from sluice.ledger.reads.quiescence import idle
from sluice.ops.cli.main import main
from tests.timed import Timed

DST = {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "key": "{due-1d:%Y%m%d}"}
#: Due on 29 February only, so that no due time is near the real time.
YEARLY = {"cron": "0 0 29 2 *"}


class Desk:
    """Ledger and definitions for commands that run in this process."""

    def __init__(self, timed: Timed, capture: pytest.CaptureFixture[str]) -> None:
        timed.now = datetime.now(UTC)
        self.timed = timed
        self._capture = capture

    def asks(self, *words: str) -> Any:
        """Return the document that a command prints. The command must succeed."""
        code = main(["--json", *words])
        said = self._capture.readouterr()
        assert code == 0, said.err
        return json.loads(said.out)

    def reads(self, *words: str) -> list[str]:
        """Return the lines that a command prints for people."""
        assert main([*words]) == 0
        return self._capture.readouterr().out.splitlines()

    def fails(self, *words: str) -> str:
        """Return the error and the advice of a refused command."""
        assert main([*words]) == 2
        return self._capture.readouterr().err


@pytest.fixture
def desk(
    ledger_url: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Desk]:
    monkeypatch.setenv("SLUICE_LEDGER_URL", ledger_url)
    monkeypatch.setenv("SLUICE_APPS", str(tmp_path / "apps.json"))
    with Timed(ledger_url, tmp_path) as timed:
        yield Desk(timed, capfd)


class TestNext:
    def test_due_times_across_a_change_of_the_clocks(self, desk: Desk) -> None:
        desk.timed.edit(night=DST)
        assert desk.asks("schedules", "next", "night", "--after", "2026-03-28T00:00:00Z", "--count", "3") == [
            {
                "schedule": "night",
                "app": "a",
                "due": f"2026-03-{utc}Z",
                "fire_at": f"2026-03-{utc}Z",
                "local": f"2026-03-{local}",
                "timezone": "Europe/Berlin",
            }
            for utc, local in (
                ("28T01:30:00", "28T02:30:00+01:00"),
                ("29T01:00:00", "29T03:00:00+02:00"),
                ("30T00:30:00", "30T02:30:00+02:00"),
            )
        ]

    def test_due_times_of_all_schedules_in_one_list(self, desk: Desk) -> None:
        desk.timed.edit(night=DST, noon={"cron": "0 12 * * *", "jitter": "10m"})
        lines = desk.reads("schedules", "next", "--after", "2026-10-24T12:00:00Z", "--count", "3")
        assert [line.split()[:4] for line in lines[1:]] == [
            ["2026-10-25", "00:30:00", "night", "a"],
            ["2026-10-25", "12:00:00", "noon", "a"],
            ["2026-10-26", "01:30:00", "night", "a"],
        ]
        assert lines[1].endswith("Sun 02:30:00 +0200 in Europe/Berlin")
        assert ", fired at 2026-10-25 12:0" in lines[2]

    def test_due_times_without_a_ledger(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        desk.timed.edit(yearly=YEARLY)
        monkeypatch.setenv("SLUICE_LEDGER_URL", "postgresql://127.0.0.1:1/sluice")
        (one,) = desk.asks("schedules", "next", "yearly", "--after", "2097-01-01", "--count", "1")
        assert one["due"] == "2104-02-29T00:00:00Z"
        assert desk.asks("schedules", "next", "--after", "9989-01-01") == []
        assert (
            "There are no further due times." in desk.reads("schedules", "next", "--after", "9989-01-01")[0]
        )

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            (["nigth"], "There is no schedule 'nigth' (did you mean night?)"),
            (["--count", "0"], "0 due times are too few"),
            (["--after", "soon"], "'soon' is not a time"),
        ],
    )
    def test_invalid_arguments_of_next_are_refused(self, desk: Desk, words: list[str], told: str) -> None:
        desk.timed.edit(night=DST)
        assert told in desk.fails("schedules", "next", *words)


class TestLs:
    def test_a_schedule_before_any_scheduler_has_taken_it_up(self, desk: Desk) -> None:
        desk.timed.edit(night=DST)
        (one,) = desk.asks("schedules", "ls")
        assert (one["id"], one["rule"], one["timezone"], one["taken_up"], one["last"]) == (
            "night",
            "30 2 * * *",
            "Europe/Berlin",
            False,
            None,
        )
        assert "once `sluice up` runs" in desk.reads("schedules", "ls")[1]

    def test_each_schedule_has_its_state_and_last_outcome(self, desk: Desk) -> None:
        timed = desk.timed
        timed.edit(often={"every": "1h"}, gone=YEARLY, rests=YEARLY)
        timed.look()
        due = timed.standing("often").next_due
        assert due is not None
        manual.pause(timed.ledger, None, ["rests"])
        timed.edit(often={"every": "1h"}, rests=YEARLY)
        timed.now = due + timedelta(seconds=2)
        timed.look()
        often, rests = desk.asks("schedules", "ls")
        assert (often["id"], often["last"]["outcome"], often["last"]["state"]) == ("often", "fired", "active")
        assert often["last"]["submission"] == timed.fired("often")[0]
        assert datetime.fromisoformat(often["next_due"]) == due + timedelta(hours=1)
        assert (rests["id"], rests["paused_at"] is None) == ("rests", False)
        assert [each["id"] for each in desk.asks("schedules", "ls", "--all")] == ["gone", "often", "rests"]
        lines = desk.reads("schedules", "ls", "--all")
        assert "left its source" in lines[1]
        assert lines[2].endswith(f"fired: {timed.fired('often')[0]}, active")
        assert "paused" in lines[3]

    def test_the_past_due_times_of_one_schedule(self, desk: Desk) -> None:
        timed = desk.timed
        timed.edit(s={"every": "1h", "misfire_grace": "10m"})
        timed.look()
        assert "No due time of s has come yet; the next is 20" in desk.reads("schedules", "ls", "s")[0]
        due = timed.standing().next_due
        assert due is not None
        timed.now = due + timedelta(hours=2)
        timed.look()
        told = desk.asks("schedules", "ls", "s", "--limit", "2")
        assert (told["id"], [each["outcome"] for each in told["firings"]]) == ("s", ["fired", "missed"])
        assert [line.split("  ")[-1] for line in desk.reads("schedules", "ls", "s")][2:] == [
            "missed: 1h late",
            "missed: 2h late",
        ]
        assert "There is no schedule 't'" in desk.fails("schedules", "ls", "t")

    def test_without_schedules_the_list_is_empty(self, desk: Desk) -> None:
        desk.timed.edit()
        assert desk.asks("schedules", "ls") == []
        assert desk.reads("schedules", "ls")[0].startswith("No schedules.")

    def test_schedules_are_listed_and_paused_without_definitions(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk.timed.edit(night=DST)
        desk.timed.look()
        monkeypatch.setenv("SLUICE_APPS", "")
        assert [each["id"] for each in desk.asks("schedules", "ls")] == ["night"]
        assert desk.asks("schedules", "pause", "night") == {"paused": ["night"]}


class TestFire:
    def test_a_schedule_is_fired_now(self, desk: Desk) -> None:
        desk.timed.edit(night=DST)
        told = desk.asks("schedules", "fire", "night")
        assert told.keys() == {"schedule", "submission", "state", "due", "new"}
        assert (told["state"], told["new"]) == ("received", True)
        assert desk.timed.submissions() == [told["submission"]]
        assert desk.reads("schedules", "fire", "night")[0].startswith("schedule:night:by hand:")

    def test_a_due_time_is_fired_once(self, desk: Desk) -> None:
        desk.timed.edit(night=DST)
        words = ("schedules", "fire", "night", "--due", "2026-03-29T03:00:00+02:00")
        first, again = desk.asks(*words), desk.asks(*words)
        assert first["submission"] == again["submission"] == "schedule:night:2026-03-29T01:00:00Z"
        assert (first["new"], again["new"]) == (True, False)
        assert len(desk.timed.submissions()) == 1

    def test_a_missed_due_time_of_an_earlier_rule_can_be_fired(self, desk: Desk) -> None:
        timed = desk.timed
        timed.edit(s={"every": "1h"})
        timed.look()
        due = timed.standing().next_due
        assert due is not None
        timed.now = due + timedelta(minutes=50)
        timed.look()
        assert [each.outcome for each in timed.firings()] == ["missed"]
        timed.edit(s=YEARLY)
        assert desk.asks("schedules", "fire", "s", "--due", due.isoformat())["new"]

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            (["nigt"], "There is no schedule 'nigt' (did you mean night?)"),
            (["night", "--due", "2026-03-29T02:00:00Z"], "02:00:00Z, but next at 2026-03-30T00:30:00Z"),
            (["night", "--due", "soon"], "'soon' is not a time"),
        ],
    )  # fmt: skip
    def test_unknown_schedules_and_wrong_due_times_are_not_fired(
        self, desk: Desk, words: list[str], told: str
    ) -> None:
        desk.timed.edit(night=DST)
        assert told in desk.fails("schedules", "fire", *words)
        assert desk.timed.submissions() == []

    def test_a_fired_submission_can_be_refused_by_the_planner(self, desk: Desk) -> None:
        desk.timed.edit(needy={"app": "needy", "key": "1"})
        told = desk.asks("schedules", "fire", "needy")
        desk.timed.now += timedelta(hours=1)
        desk.timed.tick()
        assert desk.asks("submissions", told["submission"])["state"] == "refused"


class TestPauseAndResume:
    def test_schedules_are_paused_and_resumed(self, desk: Desk) -> None:
        desk.timed.edit(night=DST, noon=YEARLY)
        assert desk.asks("schedules", "pause", "night", "noon", "night") == {"paused": ["night", "noon"]}
        assert desk.reads("schedules", "pause", "night") == ["night was paused before."]
        assert desk.asks("schedules", "pause", "night") == {"paused": []}
        assert desk.asks("schedules", "resume", "night") == {"resumed": ["night"]}
        assert desk.reads("schedules", "resume", "night") == ["No schedule was paused."]
        assert desk.reads("schedules", "resume", "noon") == ["noon goes on."]

    @pytest.mark.parametrize("word", ["pause", "resume"])
    def test_unknown_schedules_are_refused(self, desk: Desk, word: str) -> None:
        desk.timed.edit(night=DST)
        assert "There is no schedule 'nigt' (did you mean night?)" in desk.fails(
            "schedules", word, "night", "nigt"
        )


def test_a_due_schedule_counts_as_work_that_is_left(desk: Desk) -> None:
    """For this reason ``sluice up --drain`` does not end before it has fired the schedule."""
    timed = desk.timed
    timed.edit(s={"overlap": "queue"})
    timed.look()
    loaded = timed.catalogue.sources

    def is_idle() -> bool:
        return timed.ledger.transact(lambda tx: idle(tx, loaded))

    assert is_idle()
    due = timed.standing().next_due
    assert due is not None
    timed.now = due
    assert not is_idle()
    assert timed.ledger.transact(lambda tx: idle(tx, ["others"]))
    timed.look()
    (submission,) = timed.submissions()
    timed.now += timedelta(hours=1)
    timed.look()
    timed.cancel(submission)
    assert not is_idle()
    timed.look()
    timed.cancel(timed.submissions()[-1])
    assert is_idle()


def test_apps_check_includes_the_schedules(desk: Desk) -> None:
    desk.timed.edit(night=DST)
    assert desk.asks("apps", "check")["schedules"] == ["night"]
    assert desk.reads("apps", "check") == ["4 apps, 1 schedule, no faults."]
    desk.timed.source.write_text('{"schedules": {"s": {"app": "x", "cron": "0 25 * * *"}}}')
    said = desk.fails("apps", "check")
    assert "schedules.s: app: there is no app 'x'" in said
    assert "schedules.s: cron: hour: 25 is not from 0 to 23" in said


def test_without_a_ledger_ls_exits_with_3(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.timed.edit(night=DST)
    monkeypatch.setenv("SLUICE_LEDGER_URL", "postgresql://127.0.0.1:1/sluice")
    assert main(["schedules", "ls"]) == 3
