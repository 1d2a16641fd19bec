"""Schedules on a real ledger: entered, fired, edited and retired, and the effects of a lost message or a crash."""

import json
from datetime import date, timedelta
from pathlib import Path

import msgspec
import pytest

from sluice.actors.scheduler import due_schedules
from sluice.actors.worker.handlers import handle
from sluice.broker.messages import Look, Plan, Tick
from sluice.jobs.catalogue import load
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.schedules.schedule import UserTrigger
from sluice.jobs.states import State
from sluice.ledger.recovery.invariants import breaches
from sluice.ops.simulation.mortal_ledger import SimulatedDeath
from sluice.scheduler.evaluate import AWAY_S_MIN
from tests.actors.ledgers import Counting, Dying
from tests.scheduler.test_due_times import Broken
from tests.timed import Timed

_REQUESTED = """
SELECT submission.id, job.key FROM submission_job
    JOIN submission ON submission.number = submission_job.submission JOIN job ON job.id = submission_job.job
ORDER BY 1, 2
"""
#: Definitions with a user's own trigger that is due at 13:00 and 14:00, and never again.
TWICE = """
from datetime import UTC, datetime, timedelta
from sluice import app, schedule

class Twice:
    def get_next_fire_time(self, previous, now):
        one = datetime(2026, 1, 1, 13, tzinfo=UTC)
        return one if previous is None else one + timedelta(hours=1) if previous == one else None

@app(job_id="{x}")
def a(x): ...

s = schedule(id="s", app=a, key="{due:%H}", trigger=Twice())
"""


def test_a_due_time_becomes_one_submission_with_its_own_key(timed: Timed) -> None:
    timed.edit(s={})
    timed.look("12:30:00")
    assert (timed.came(), timed.next()) == ("", "13:00")
    timed.look("13:00:01")
    timed.look("13:00:02")
    assert (timed.came(), timed.next()) == ("13:00 fired", "14:00")
    assert timed.submissions() == ["schedule:s:2026-01-01T13:00:00Z"]
    assert timed.state("a/20260101130000") is State.READY


def test_a_schedule_requests_the_slices_that_it_selects(timed: Timed) -> None:
    day = "{due-1d:%Y-%m-%d}"
    words = {"app": "sales", "cron": "0 13 * * *"}
    asked = {
        "all": {"start": day, "end": day},
        "oslo": {"start": day, "end": day, "by": {"store": ["oslo"]}},
        "key": {"key": f"graz/{day}"},
    }
    sales = {"bash_cmd": "true", "partition": {"by": {"store": ["graz", "oslo"]}}}
    schedules = [{"id": id_, **words, **each} for id_, each in asked.items()]
    timed.source.write_text(json.dumps({"sales": sales, "schedules": schedules}))
    timed.catalogue = load([str(timed.source)])
    timed.look()
    timed.look("13:00:00")
    rows = timed.ledger.transact(lambda tx: tx.rows(_REQUESTED))
    assert [(id_.split(":")[1], key.partition("@")[0]) for id_, key in rows] == [
        *(("all", "graz/2025-12-31"), ("all", "oslo/2025-12-31")),
        *(("key", "graz/2025-12-31"), ("oslo", "oslo/2025-12-31")),
    ]


def test_a_look_that_finds_nothing_costs_one_statement(timed: Timed) -> None:
    timed.edit(s={}, t={"overlap": "queue"}, u={"every": "7h"})
    timed.look()
    timed.look("13:00:00")
    counted = Counting(timed)
    assert handle(counted, timed.catalogue, Look()) == []
    assert counted.statements == 1
    counted.close()


def test_several_schedules_are_handled_in_one_look(timed: Timed) -> None:
    timed.edit(**{f"s{n}": {"key": f"{n}-{{due:%H}}"} for n in range(due_schedules.BATCH + 20)})
    timed.look()
    timed.now += timedelta(hours=1)
    messages = due_schedules.check_schedules(timed.ledger, timed.catalogue, Look())
    assert [len(each.submissions) for each in messages if isinstance(each, Plan)] == [due_schedules.BATCH, 20]
    assert len(timed.submissions()) == due_schedules.BATCH + 20


def test_after_an_outage_only_the_latest_due_time_is_fired_by_default(timed: Timed) -> None:
    timed.edit(s={}, all={"catch_up": "all"}, daily={"cron": "30 12 * * *"}, interval={"every": "7h"})
    timed.look()
    timed.look("16:10:00")
    assert timed.came() == "13:00 coalesced, 14:00 coalesced, 15:00 coalesced, 16:00 fired"
    assert timed.came("all") == "13:00 fired, 14:00 fired, 15:00 fired, 16:00 fired"
    assert timed.came("daily") == "12:30 fired"
    assert timed.came("interval") == "14:00 missed"
    assert [each.note for each in timed.firings("interval")] == ["2h10m late"]


def test_a_very_long_outage_is_handled_in_one_look(timed: Timed) -> None:
    timed.edit(s={"every": "1m", "misfire_grace": "5m"})
    timed.look()
    timed.now += timedelta(days=2)
    timed.look()
    firings = timed.firings()
    assert len(firings) == 2 * 24 * 60
    assert [each.outcome for each in firings[-7:]] == ["missed"] + ["coalesced"] * 5 + ["fired"]


class TestEdits:
    def test_a_missed_firing_of_the_old_rule_is_not_lost(self, timed: Timed) -> None:
        timed.edit(s={})
        timed.look()
        timed.edit(s={"cron": "15 * * * *"})
        timed.look("13:20:00")
        assert (timed.came(), timed.next()) == ("13:00 fired", "14:15")
        assert timed.standing().rule == "15 * * * *"

    def test_an_old_due_time_that_had_not_come_is_dropped(self, timed: Timed) -> None:
        timed.edit(s={})
        timed.look()
        timed.edit(s={"cron": "15 * * * *"})
        timed.look("12:50:00")
        assert (timed.came(), timed.next()) == ("", "13:15")

    def test_changed_options_are_applied_and_the_due_times_stay(self, timed: Timed) -> None:
        timed.edit(s={"catch_up": "all"})
        timed.look()
        timed.edit(s={"catch_up": "all", "app": "b", "key": "x{due:%H}"})
        timed.look("14:00:00")
        assert timed.came() == "13:00 fired, 14:00 fired"
        assert timed.states().keys() == {"b/x13", "b/x14"}

    def test_a_schedule_that_left_its_source_is_retired_and_may_return(self, timed: Timed) -> None:
        timed.edit(s={}, other={})
        timed.look()
        timed.edit(other={})
        timed.look("12:10:00")
        assert timed.standing().retired_at == timed.now
        timed.look("13:00:00")
        assert (timed.came(), timed.came("other")) == ("", "13:00 fired")
        timed.edit(s={}, other={})
        timed.look("14:10:00")
        assert timed.standing().retired_at is None
        assert (timed.came(), timed.next()) == ("", "15:00")

    def test_a_renamed_schedule_is_a_new_schedule(self, timed: Timed) -> None:
        timed.edit(s={})
        timed.look()
        timed.edit(t={})
        timed.look("13:00:00")
        assert timed.standing().retired_at is not None
        assert (timed.came(), timed.came("t"), timed.next("t")) == ("", "", "14:00")

    def test_processes_with_different_definitions_lose_no_due_time(self, timed: Timed) -> None:
        """During a rolling restart one process still has the definitions without the schedule, and makes every other
        look."""
        old = timed.write({})
        timed.edit(s={})
        timed.look()
        for _ in range(100):
            timed.now += timedelta(seconds=AWAY_S_MIN / 2)
            handle(timed.ledger, old, Look())
            timed.now += timedelta(seconds=AWAY_S_MIN / 2)
            timed.look()
        assert timed.came() == "13:00 fired"

    def test_the_schedules_of_other_sources_are_left_alone(self, timed: Timed, tmp_path: Path) -> None:
        theirs = timed.write({"theirs": {}}, tmp_path / "theirs.json")
        timed.edit(ours={})
        for catalogue in (theirs, timed.catalogue, theirs):
            handle(timed.ledger, catalogue, Look())
        timed.look("13:00:00")
        assert (timed.came("ours"), timed.came("theirs")) == ("13:00 fired", "")
        assert timed.standing("theirs").retired_at is None
        handle(timed.ledger, theirs, Look())
        assert timed.came("theirs") == "13:00 fired"

    def test_a_schedule_that_moves_to_another_source_continues(self, timed: Timed, tmp_path: Path) -> None:
        timed.edit(s={})
        timed.look()
        timed.write({})
        moved = tmp_path / "moved.json"
        moved.write_text(timed.source.read_text())
        timed.write({"s": {}}, moved)
        timed.source.write_text("{}")
        timed.catalogue = load([str(timed.source), str(moved)])
        timed.look("13:00:00")
        assert timed.came() == "13:00 fired"
        assert timed.standing().source == str(moved)

    def test_a_process_without_sources_retires_nothing(self, timed: Timed) -> None:
        timed.edit(s={})
        timed.look()
        handle(timed.ledger, load([]), Look())
        assert timed.standing().retired_at is None


class TestFaults:
    def test_a_key_that_cannot_be_formatted_is_faulty_and_other_schedules_continue(
        self, timed: Timed
    ) -> None:
        weeks, days = divmod((date.max - timed.now.date()).days, 7)
        timed.edit(far={"key": f"{{due+{weeks}w+{days}d+12h:%Y}}"}, s={})
        timed.look()
        timed.look("13:00:00")
        assert (timed.came("far"), timed.came()) == ("13:00 faulty", "13:00 fired")
        assert timed.next("far") == "14:00"

    def test_a_failing_trigger_stops_only_its_own_schedule(self, timed: Timed) -> None:
        timed.edit(s={}, t={})
        broken = msgspec.structs.replace(
            timed.catalogue.schedules["t"], rule=UserTrigger.of(Broken(KeyError("x"))), digest="broken"
        )
        timed.look()
        timed.catalogue.schedules["t"] = broken
        timed.look("13:00:00")
        assert (timed.came(), timed.next("t")) == ("13:00 fired", "none")
        assert [each.outcome for each in timed.firings("t")] == ["fired", "faulty"]
        timed.edit(s={}, t={})
        timed.look("13:10:00")
        assert timed.next("t") == "14:00"

    def test_a_users_own_trigger_is_called_until_it_has_no_more_times(
        self, timed: Timed, tmp_path: Path
    ) -> None:
        (tmp_path / "flow.py").write_text(TWICE)
        timed.catalogue = load([str(tmp_path / "flow.py")])
        timed.look()
        timed.look("13:00:00")
        timed.look("14:00:00")
        timed.look("15:00:00")
        assert (timed.came(), timed.next()) == ("13:00 fired, 14:00 fired", "none")
        assert timed.states().keys() == {"a/13", "a/14"}

    def test_a_due_time_with_a_refused_submission_counts_as_fired(self, timed: Timed) -> None:
        timed.edit(s={"app": "needy"})
        timed.look()
        timed.look("13:00:00")
        (id_,) = timed.fired()
        assert timed.submission(id_) is SubmissionState.REFUSED
        timed.look("14:00:00")
        assert timed.came() == "13:00 fired, 14:00 fired"


class TestLosses:
    def test_the_next_look_makes_up_for_a_lost_one(self, timed: Timed) -> None:
        timed.edit(s={})
        timed.look()
        timed.now += timedelta(hours=1)
        timed.queue.append(Look())
        timed.lose_messages()
        timed.look("13:00:03")
        assert timed.came() == "13:00 fired"

    def test_the_groomer_repeats_a_lost_message_to_the_planner(self, timed: Timed) -> None:
        timed.edit(s={})
        timed.look()
        timed.now += timedelta(hours=1)
        assert due_schedules.check_schedules(timed.ledger, timed.catalogue, Look()) != []
        assert timed.states() == {}
        timed.tick(after_s=3)
        assert timed.state("a/20260101130000") is State.READY

    @pytest.mark.parametrize("commits", range(6))
    @pytest.mark.parametrize("lost", [False, True])
    def test_a_crash_around_any_commit_loses_and_repeats_no_due_time(
        self, timed: Timed, commits: int, lost: bool
    ) -> None:
        timed.edit(s={"catch_up": "all"}, gone={}, r={"overlap": "replace"})
        timed.look()
        timed.look("13:00:00")
        timed.edit(s={"catch_up": "all", "cron": "30 * * * *"}, r={"overlap": "replace"}, new={})
        timed.now += timedelta(hours=1)
        dying = Dying(timed, commits, lost=lost)
        try:
            timed.queue.extend(due_schedules.check_schedules(dying, timed.catalogue, Look()))
        except SimulatedDeath:
            assert timed.ledger.transact(breaches) == []
        finally:
            dying.close()
        timed.deliver()
        timed.look("14:00:03")
        timed.tick(after_s=5)
        assert timed.came() == "13:00 fired, 14:00 fired"
        assert timed.came("r") == "13:00 fired, 14:00 fired"
        assert (timed.next(), timed.next("new")) == ("14:30", "15:00")
        assert timed.standing("gone").retired_at is not None
        assert len(timed.submissions()) == len(set(timed.submissions())) == 5
        open_ = [id_ for id_ in timed.submissions() if timed.submission(id_) is SubmissionState.ACTIVE]
        assert {id_ for id_ in open_ if ":r:" in id_} == {"schedule:r:2026-01-01T14:00:00Z"}


def test_with_jitter_a_due_time_is_fired_later_and_once(timed: Timed) -> None:
    timed.edit(s={"jitter": "20m"})
    timed.look()
    fires = timed.standing().fire_at
    assert fires is not None
    assert timedelta(0) < fires - timed.now - timedelta(hours=1) < timedelta(minutes=20)
    timed.now = fires - timedelta(seconds=1)
    timed.look()
    assert timed.came() == ""
    timed.now = fires
    timed.look()
    assert (timed.came(), timed.next()) == ("13:00 fired", "14:00")


def test_the_tick_of_the_groomer_fires_nothing(timed: Timed) -> None:
    timed.edit(s={})
    timed.look()
    timed.now += timedelta(hours=1)
    timed.queue.append(Tick())
    timed.deliver()
    assert timed.came() == ""
