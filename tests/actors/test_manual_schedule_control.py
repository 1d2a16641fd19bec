"""Schedules that an operator fires, pauses or resumes by hand."""

from datetime import UTC, datetime, timedelta

import pytest

from sluice.actors.scheduler import manual
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.submission import Submission
from sluice.ledger.lifecycle import submissions
from sluice.ledger.reads.schedule_states import schedules
from tests.timed import Timed

ONE = datetime(2026, 1, 1, 13, tzinfo=UTC)


def fire(timed: Timed, due: datetime | None = None, id_: str = "s") -> manual.ManualFiring:
    return manual.fire(timed.ledger, timed.catalogue.schedules[id_], due)


def test_each_firing_without_a_due_time_makes_a_new_submission(timed: Timed) -> None:
    timed.edit(s={"cron": "0 12 * * *"})
    first = fire(timed)
    timed.now += timedelta(seconds=5)
    second = fire(timed)
    assert first.is_new
    assert second.is_new
    assert timed.submissions() == [first.submission, second.submission]
    assert first.submission.startswith("schedule:s:by hand:")
    assert [(each.outcome, each.note) for each in timed.firings()] == [("fired", "by hand")] * 2


def test_firing_now_does_not_replace_a_due_time(timed: Timed) -> None:
    timed.edit(s={})
    timed.look()
    timed.now = ONE
    fire(timed)
    timed.look()
    assert timed.came() == "13:00 fired, 13:00 fired"
    assert len(timed.submissions()) == 2


def test_a_due_time_is_fired_once_even_if_requested_twice(timed: Timed) -> None:
    timed.edit(s={})
    timed.look()
    assert fire(timed, ONE).is_new
    again = fire(timed, ONE)
    assert (again.is_new, again.submission) == (False, "schedule:s:2026-01-01T13:00:00Z")
    timed.look("13:00:00")
    assert timed.submissions() == [again.submission]
    assert (timed.came(), timed.next()) == ("13:00 fired", "14:00")


def test_a_missed_due_time_can_be_fired_by_hand(timed: Timed) -> None:
    timed.edit(s={"misfire_grace": "30m"})
    timed.look()
    timed.look("14:50:00")
    assert timed.came() == "13:00 missed, 14:00 missed"
    assert fire(timed, ONE).is_new
    assert timed.came() == "13:00 fired, 14:00 missed"


def test_a_queued_due_time_that_was_fired_by_hand_is_not_fired_again(timed: Timed) -> None:
    timed.edit(s={"overlap": "queue"})
    timed.look()
    timed.look("13:00:00")
    timed.look("14:00:00")
    fire(timed, ONE + timedelta(hours=1))
    for id_ in timed.submissions():
        timed.ledger.transact(lambda tx, id_=id_: submissions.cancel(tx, id_))
    timed.look("14:10:00")
    assert timed.came() == "13:00 fired, 14:00 fired"
    assert len(timed.submissions()) == 2


def test_firing_is_refused_if_the_key_has_no_text_for_the_due_time(timed: Timed) -> None:
    timed.edit(s={"key": "{due+99w:%Y}"})
    with pytest.raises(BadRequest, match=r"s cannot be fired for 9999-12-01"):
        fire(timed, datetime(9999, 12, 1, tzinfo=UTC))


def test_kwargs_are_formatted_for_the_due_time_in_the_schedules_time_zone(timed: Timed) -> None:
    timed.edit(s={"timezone": "Europe/Berlin", "kwargs": {"hour": "{due:%H}"}})
    fire(timed, ONE)
    request = timed.ledger.transact(lambda tx: tx.column("SELECT request FROM submission"))[0]
    assert Submission(**request).kwargs == {"hour": "14"}


class TestPauses:
    def test_due_times_during_a_pause_are_not_caught_up(self, timed: Timed) -> None:
        timed.edit(s={"catch_up": "all"})
        timed.look()
        assert manual.pause(timed.ledger, timed.catalogue, ["s"]) == ["s"]
        assert manual.pause(timed.ledger, timed.catalogue, ["s"]) == []
        timed.look("13:00:00")
        timed.now += timedelta(hours=1, minutes=30)
        # No look happened at 14:00, and the schedule is resumed before the next one.
        assert manual.resume(timed.ledger, ["s"]) == ["s"]
        assert manual.resume(timed.ledger, ["s"]) == []
        timed.look("15:00:00")
        assert timed.came() == "13:00 paused, 14:00 paused, 15:00 fired"

    def test_a_queued_due_time_waits_until_the_schedule_is_resumed(self, timed: Timed) -> None:
        timed.edit(s={"overlap": "queue"})
        timed.look()
        timed.look("13:00:00")
        timed.look("14:00:00")
        manual.pause(timed.ledger, timed.catalogue, ["s"])
        timed.cancel(timed.submissions()[0])
        timed.look("14:30:00")
        assert timed.came() == "13:00 fired, 14:00 queued"
        manual.resume(timed.ledger, ["s"])
        timed.look("14:31:00")
        assert timed.came() == "13:00 fired, 14:00 fired"

    def test_a_pause_outlives_an_edit_and_a_retirement(self, timed: Timed) -> None:
        timed.edit(s={})
        timed.look()
        manual.pause(timed.ledger, None, ["s"])
        timed.edit(s={"cron": "30 * * * *"})
        timed.look("12:10:00")
        timed.edit()
        timed.look("12:20:00")
        timed.edit(s={})
        timed.look("12:50:00")
        timed.look("13:00:00")
        assert timed.came() == "13:00 paused"

    def test_a_defined_schedule_that_is_not_in_the_ledger_yet_can_be_paused(self, timed: Timed) -> None:
        timed.edit(s={})
        assert manual.pause(timed.ledger, None, ["s"]) == []
        assert manual.pause(timed.ledger, timed.catalogue, ["s", "nobody"]) == ["s"]
        timed.look("13:00:00")
        assert timed.came() == "13:00 paused"

    def test_pausing_a_paused_schedule_keeps_the_time_of_its_pause(self, timed: Timed) -> None:
        timed.edit(s={}, t={})
        manual.pause(timed.ledger, timed.catalogue, ["s"])
        since = timed.now
        timed.now += timedelta(minutes=1)
        assert manual.pause(timed.ledger, timed.catalogue, ["s", "t"]) == ["t"]
        paused = timed.ledger.transact(lambda tx: schedules(tx, retired=False))
        assert {each.id: each.paused_at for each in paused} == {"s": since, "t": timed.now}

    def test_a_paused_schedule_can_be_fired_by_hand(self, timed: Timed) -> None:
        timed.edit(s={})
        manual.pause(timed.ledger, timed.catalogue, ["s"])
        assert fire(timed).is_new
