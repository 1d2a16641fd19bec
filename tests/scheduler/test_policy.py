"""Outcomes of due times that were missed, that overlap, or that belong to a changed rule."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.schedules.schedule import (
    FiringOutcome,
    OpenRuns,
    Overlapping,
    Schedule,
    UserTrigger,
    submission_id,
)
from sluice.scheduler.due_times import fire_at
from sluice.scheduler.evaluate import AWAY_S_MIN, ScheduleResult, settle
from sluice.scheduler.misfires import PASSED_MAX, PUNCTUAL_S
from sluice.scheduler.overlap import QUEUED_MAX
from tests.scheduler.calendar import at, moments
from tests.scheduler.entries import schedule_of, standing_of
from tests.scheduler.test_due_times import Broken

#: Letters for outcomes in the tables below.
LETTERS = {
    FiringOutcome.FIRED: "F",
    FiringOutcome.QUEUED: "q",
    FiringOutcome.SKIPPED: "s",
    FiringOutcome.COALESCED: "c",
    FiringOutcome.MISSED: "m",
    FiringOutcome.PAUSED: "p",
    FiringOutcome.FAULTY: "!",
}
IDLE, OPEN = OpenRuns(), OpenRuns(own=("before",), app=True)


def after(
    schedule: Schedule, first: str, now: str | datetime, busy: OpenRuns = IDLE, **standing: Any
) -> ScheduleResult:
    """Settle a schedule in which no due time from ``first`` on has an outcome."""
    now = at(now) if isinstance(now, str) else now
    stands = standing_of(schedule, at(first), **standing)
    return settle(schedule, stands, now, busy, Overlapping(schedule.overlap))


def letters(settled: ScheduleResult) -> str:
    return "".join(LETTERS[firing.outcome] for firing in sorted(settled.firings, key=lambda each: each.due))


@pytest.mark.parametrize(
    ("words", "now", "expected"),
    [
        # An hourly schedule. No due time from 02:00 on has an outcome.
        ({}, "01:59", ""),
        ({}, "02:00", "F"),
        ({}, "02:31", "F"),
        ({}, "04:59", "ccF"),
        ({"every": "1h"}, "02:30", "F"),
        ({"every": "1h"}, "02:31", "m"),
        ({"every": "1h"}, "04:30", "mmF"),
        ({"every": "1h"}, "04:31", "mmm"),
        ({"misfire_grace": "2h"}, "04:30", "mcF"),
        ({"misfire_grace": "2h"}, "04:00", "ccF"),
        ({"misfire_grace": None}, "09:59", "cccccccF"),
        ({"misfire_grace": 0}, "02:00:15", "F"),
        ({"misfire_grace": 0}, "02:00:16", "m"),
        ({"catch_up": "none"}, "02:00:15", "F"),
        ({"catch_up": "none"}, "02:00:16", "m"),
        ({"catch_up": "none"}, "05:00:05", "mmmF"),
        ({"catch_up": "none", "misfire_grace": "1d"}, "05:05", "mmmm"),
        ({"catch_up": "all"}, "05:59", "FFFF"),
        ({"catch_up": "all", "misfire_grace": "90m"}, "05:15", "mmFF"),
        ({"catch_up": 2}, "06:59", "cccFF"),
        ({"catch_up": 2}, "02:59", "F"),
        ({"catch_up": 2, "misfire_grace": "70m"}, "06:05", "mmmFF"),
        ({"catch_up": 2, "misfire_grace": "10m"}, "06:05", "mmmmF"),
    ],
)
def test_missed_due_times_get_the_outcomes_that_the_options_require(
    words: dict[str, Any], now: str, expected: str
) -> None:
    settled = after(schedule_of(**words), "2026-01-01 02:00", f"2026-01-01 {now}")
    assert letters(settled) == expected
    assert settled.standing.next_due == at("2026-01-01 02:00") + timedelta(hours=len(expected))
    assert not settled.more


def test_a_schedule_every_five_minutes_fires_once_after_two_hours() -> None:
    settled = after(schedule_of(every="5m"), "2026-01-01 02:00", "2026-01-01 04:02")
    assert letters(settled) == "m" * 19 + "c" * 5 + "F"
    assert [firing.due for firing in settled.firings if firing.submission] == [at("2026-01-01 04:00")]


@pytest.mark.parametrize(("now", "expected"), [("01-01 02:45", "F"), ("01-04 01:59", "ccF")])
def test_a_daily_cron_schedule_fires_its_latest_due_time_however_late_it_is(now: str, expected: str) -> None:
    settled = after(schedule_of(cron="0 2 * * *"), "2026-01-01 02:00", f"2026-{now}")
    assert letters(settled) == expected


@pytest.mark.parametrize(("now", "expected"), [("00:20", "F"), ("00:45", "m")])
def test_a_daily_interval_catches_up_for_half_an_hour(now: str, expected: str) -> None:
    settled = after(schedule_of(every="1d"), "2026-01-01 00:00", f"2026-01-01 {now}")
    assert letters(settled) == expected
    assert settled.standing.next_due == at("2026-01-02 00:00")


@pytest.mark.parametrize(
    ("words", "busy", "expected"),
    [
        # Three due times have come, and with ``catch_up: all`` each would be fired.
        ({}, OPEN, "FFF"),
        ({"overlap": "skip"}, IDLE, "Fss"),
        ({"overlap": "skip"}, OPEN, "sss"),
        ({"overlap": "queue"}, IDLE, "Fqq"),
        ({"overlap": "queue"}, OPEN, "qqq"),
        ({"overlap": "replace"}, IDLE, "ccF"),
        ({"overlap": "replace"}, OPEN, "ccF"),
        # Another submission of the app does not belong to this schedule.
        ({"overlap": "skip"}, OpenRuns(app=True), "Fss"),
    ],
)
def test_overlap_determines_the_outcomes_while_an_earlier_submission_is_open(
    words: dict[str, Any], busy: OpenRuns, expected: str
) -> None:
    settled = after(schedule_of(catch_up="all", **words), "2026-01-01 02:00", "2026-01-01 04:00", busy)
    assert letters(settled) == expected
    assert settled.replaced == (("before",) if words.get("overlap") == "replace" and busy is OPEN else ())


def test_a_schedule_of_an_app_that_runs_alone_does_not_fire_beside_another() -> None:
    stands = standing_of(schedule_of(), at("2026-01-01 02:00"))
    alone = Overlapping("skip", of_app=True)
    settled = settle(schedule_of(), stands, at("2026-01-01 02:00"), OpenRuns(app=True), alone)
    assert letters(settled) == "s"


def test_queued_due_times_are_fired_first_and_one_at_a_time() -> None:
    waiting = (at("2026-01-01 00:00"), at("2026-01-01 01:00"))
    queue = schedule_of(overlap="queue")
    free = after(queue, "2026-01-01 02:00", "2026-01-01 02:00", OpenRuns(waiting=waiting))
    assert [(firing.due, LETTERS[firing.outcome]) for firing in free.firings] == [
        (waiting[0], "F"),
        (at("2026-01-01 02:00"), "q"),
    ]
    held = after(queue, "2026-01-01 02:00", "2026-01-01 01:59", OpenRuns(own=("x",), waiting=waiting))
    assert held.firings == ()


def test_a_limited_number_of_due_times_is_queued() -> None:
    settled = after(schedule_of(overlap="queue", catch_up="all"), "2026-01-01 02:00", "2026-01-01 20:00")
    assert letters(settled) == "F" + "q" * QUEUED_MAX + "s" * (18 - QUEUED_MAX)
    assert "10 are waiting already" in str(settled.firings[-1].note)


def test_a_queued_due_time_with_an_unwritable_key_does_not_block_others() -> None:
    waiting = (at("2026-01-01 00:00"), at("9000-01-01 00:00"))
    far = schedule_of(overlap="queue", key="{due+99999w:%Y}", misfire_grace=None)
    settled = after(far, "2026-01-01 02:00", "2026-01-01 01:00", OpenRuns(waiting=waiting[1:] + waiting[:1]))
    assert [LETTERS[firing.outcome] for firing in settled.firings] == ["!", "F"]


def test_due_times_pass_without_firing_during_a_pause() -> None:
    hourly = schedule_of(catch_up="all", overlap="queue")
    paused = {"paused_at": at("2026-01-01 01:00")}
    waiting = OpenRuns(waiting=(at("2026-01-01 00:00"),))
    settled = after(hourly, "2026-01-01 02:00", "2026-01-01 04:00", waiting, **paused)
    assert letters(settled) == "ppp"
    assert settled.standing.paused_at == at("2026-01-01 01:00")


def test_due_times_that_passed_during_a_pause_are_not_caught_up() -> None:
    resumed = {"resumed_at": at("2026-01-01 03:30")}
    settled = after(schedule_of(catch_up="all"), "2026-01-01 02:00", "2026-01-01 05:00", **resumed)
    assert letters(settled) == "ppFF"


def test_a_new_schedule_starts_after_now() -> None:
    settled = settle(schedule_of(), None, at("2026-01-01 02:00"), IDLE, Overlapping(None))
    assert settled.firings == ()
    assert settled.standing.next_due == at("2026-01-01 03:00")


def test_a_schedule_that_returns_starts_after_now_and_skips_queued_due_times() -> None:
    retired = {"retired_at": at("2026-01-01 01:58")}
    waiting = OpenRuns(waiting=(at("2026-01-01 01:00"),))
    settled = after(schedule_of(overlap="queue"), "2026-01-01 02:00", "2026-01-01 02:10", waiting, **retired)
    assert letters(settled) == "s"
    assert settled.standing.next_due == at("2026-01-01 03:00")
    assert settled.standing.retired_at is None


def test_a_schedule_that_returns_within_a_minute_was_not_removed() -> None:
    now = at("2026-01-01 02:00") + timedelta(seconds=AWAY_S_MIN / 2)
    settled = after(schedule_of(), "2026-01-01 02:00", now, retired_at=at("2026-01-01 01:59:59"))
    assert letters(settled) == "F"
    assert settled.standing.retired_at is None


class TestAnotherRule:
    """Changed rules: due times of the old rule get outcomes, and the new rule counts from now on."""

    @pytest.mark.parametrize(
        ("old", "now", "expected"),
        [
            ("0 2 * * *", "01:59", ""),
            ("0 2 * * *", "02:20", "F"),
            ("0 2 * * *", "02:40", "m"),
            ("*/10 2 * * *", "02:40", "mcccF"),
            ("every 10m", "02:40", "mcccF"),
            # Only the next due time of a trigger is known.
            ("trigger acme: odd", "02:20", "F"),
            ("trigger acme: odd", "02:40", "m"),
        ],
    )
    def test_due_times_of_the_old_rule_get_outcomes(self, old: str, now: str, expected: str) -> None:
        new = schedule_of(cron="15 * * * *", misfire_grace="30m")
        settled = after(new, "2026-01-01 02:00", f"2026-01-01 {now}", rule=old)
        assert letters(settled) == expected
        assert settled.standing.rule == "15 * * * *"
        assert settled.standing.next_due == at("2026-01-01 02:15" if now < "02:15" else "2026-01-01 03:15")

    def test_due_times_in_the_old_zone_get_outcomes(self) -> None:
        new = schedule_of(cron="0 2 * * *", timezone="Europe/Berlin")
        settled = after(new, "2026-01-01 02:00", "2026-01-01 02:10", timezone="UTC")
        assert letters(settled) == "F"
        assert settled.standing.next_due == at("2026-01-02 01:00")

    def test_a_due_time_of_the_old_rule_is_fired_before_its_jitter_has_passed(self) -> None:
        stands = {"rule": "0 2 * * *", "fire_at": at("2026-01-01 02:30")}
        assert letters(after(schedule_of(), "2026-01-01 02:00", "2026-01-01 02:05", **stands)) == "F"

    def test_many_due_times_of_the_old_rule_are_handled_in_several_steps(self) -> None:
        new = schedule_of(cron="0 0 1 1 *", catch_up="all")
        first = after(new, "2026-01-01 02:00", "2026-01-02 02:00", rule="every 1m")
        assert (letters(first), first.more, first.standing.rule) == ("F" * PASSED_MAX, True, "every 1m")
        second = settle(new, first.standing, at("2026-01-02 02:00"), IDLE, Overlapping(None))
        third = settle(new, second.standing, at("2026-01-02 02:00"), IDLE, Overlapping(None))
        assert (letters(third), third.more) == ("F" * (1441 - 2 * PASSED_MAX), False)
        assert third.standing.next_due == at("2027-01-01 00:00")

    def test_a_change_of_other_options_leaves_the_due_times_unchanged(self) -> None:
        settled = after(schedule_of(catch_up="all"), "2026-01-01 02:00", "2026-01-01 04:00", digest="before")
        assert letters(settled) == "FFF"
        assert settled.standing.digest != "before"


@pytest.mark.parametrize("catch_up", ["none", "last", 3, "all"])
def test_each_of_many_due_times_gets_one_outcome(catch_up: Any) -> None:
    minutely = schedule_of(every="1m", catch_up=catch_up, misfire_grace="1h")
    now, first = at("2026-01-02 02:00"), at("2026-01-01 02:00")
    stands, told, steps = standing_of(minutely, first), "", 0
    while stands.next_due <= now:
        settled = settle(minutely, stands, now, IDLE, Overlapping(None))
        stands, told, steps = settled.standing, told + letters(settled), steps + 1
    assert len(told) == 24 * 60 + 1
    assert steps < 5
    fired = {"none": 1, "last": 1, 3: 3, "all": 61}[catch_up]
    assert told.endswith("F" * fired)
    assert told.count("F") == fired
    assert told.count("m") == (len(told) - 1 if catch_up == "none" else 24 * 60 - 60)


@given(moments("2026-01-01", "2027-01-01"), st.floats(1, 7200))
def test_jitter_is_deterministic_and_ends_before_the_next_due_time(when: datetime, jitter_s: float) -> None:
    hourly = schedule_of(jitter=jitter_s)
    due = when.replace(minute=0, second=0, microsecond=0)
    fires = fire_at(hourly, due)
    assert due <= fires < due + timedelta(seconds=min(jitter_s, 3600))
    assert fires == fire_at(schedule_of(jitter=jitter_s), due)


def test_jitter_is_waited_for_and_does_not_count_as_late() -> None:
    hourly = schedule_of(jitter="40m", misfire_grace=0)
    due = at("2026-01-01 02:00")
    fires = fire_at(hourly, due)
    assert timedelta(minutes=1) < fires - due
    assert letters(after(hourly, "2026-01-01 02:00", fires - timedelta.resolution)) == ""
    settled = after(hourly, "2026-01-01 02:00", fires + timedelta(seconds=PUNCTUAL_S))
    assert letters(settled) == "F"
    assert settled.firings[0].due == due
    assert settled.standing.fire_at == fire_at(hourly, at("2026-01-01 03:00"))


def test_a_failing_trigger_ends_its_schedule_after_the_present_due_time_is_fired() -> None:
    broken = msgspec.structs.replace(schedule_of(), rule=UserTrigger.of(Broken(ValueError("no idea"))))
    settled = after(broken, "2026-01-01 02:00", "2026-01-01 02:00")
    assert [LETTERS[firing.outcome] for firing in settled.firings] == ["F", "!"]
    assert settled.firings[1].note == "The trigger failed: ValueError: no idea"
    assert settled.standing.next_due is None
    begun = settle(broken, None, at("2026-01-01 02:00"), IDLE, Overlapping(None))
    assert (letters(begun), begun.standing.next_due) == ("!", None)


def test_each_firing_has_one_submission_with_a_derived_id() -> None:
    (firing,) = after(schedule_of(), "2026-01-01 02:00", "2026-01-01 02:00").firings
    assert firing.submission is not None
    assert firing.submission.id == "schedule:s:2026-01-01T02:00:00Z" == submission_id("s", firing.due)
    assert firing.submission.key == "20260101020000"
