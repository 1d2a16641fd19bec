"""Waits between two steps: for a named event, for any event, or until a timeout."""

from typing import Any

import pytest

from sluice import Fatal, Stop, Wait
from sluice.jobs.sagas.journal import Await
from sluice.jobs.sagas.result import FlightEnd
from tests.jobs.sagas.air import Air, both


def _waits(*steps: str, **words: Any) -> Air:
    return Air(" ".join(steps or ("a", "b")), do_a=[Wait(**words)])


def test_a_step_that_answers_wait_is_done_and_suspends_the_flight() -> None:
    air = _waits(event="approved", timeout="1d")
    landing = air.fly()
    assert landing.how is FlightEnd.SUSPENDED
    assert landing.awaits == Await(event="approved", within_s=86400)
    assert air.journal.lines == ["do 0 awaits"]
    assert air.journal.entries[0].awaits == landing.awaits
    assert air.called == "do a"


def test_the_next_step_begins_after_the_event_and_can_read_its_payload() -> None:
    air = _waits(event="approved")
    seen: list[Any] = []
    air.scripts["do b"] = [lambda flight: seen.append(dict(flight.events))]
    air.fly()
    air.journal.tell("approved", {"by": "eve"})
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.called == "do a, do b"
    assert seen == [{"approved": {"by": "eve"}}]
    assert air.journal.lines == ["do 0 awaits", "do 0 came", "do 1 done"]
    assert [entry.event for entry in air.journal.entries] == [None, 1, None]


def test_an_event_that_comes_before_the_wait_is_not_lost() -> None:
    air = _waits(event="approved")
    air.journal.tell("approved", 1)
    air.fly()
    assert air.fly().how is FlightEnd.SUCCEEDED


@pytest.mark.parametrize("runs", [1, 3])
def test_a_flight_that_runs_without_its_event_stays_suspended(runs: int) -> None:
    air = _waits(event="approved")
    air.journal.tell("paid")
    for _ in range(runs):
        landing = air.fly()
        assert (landing.how, landing.awaits) == (FlightEnd.SUSPENDED, Await(event="approved"))
    assert air.called == "do a"
    assert air.journal.lines == ["do 0 awaits"]


def test_a_crash_after_the_entry_of_a_wait_leaves_the_flight_waiting() -> None:
    air = _waits(event="approved")
    write = air.journal.write

    def dies(entry: Any) -> Any:
        write(entry)
        air.journal.taken = True
        return air.journal.heed()

    air.journal.write = dies
    assert air.fly().how is FlightEnd.LOST
    air.journal.write = write
    assert air.fly().how is FlightEnd.SUSPENDED
    assert air.called == "do a"


@pytest.mark.parametrize("said", [None, "approved", "anything"])
def test_a_wait_without_an_event_name_ends_with_any_event(said: str | None) -> None:
    air = _waits()
    air.fly()
    air.journal.tell(said, "go")
    assert air.fly().how is FlightEnd.SUCCEEDED


def test_a_resume_without_an_event_name_ends_any_wait() -> None:
    air = _waits(event="approved")
    seen: list[Any] = []
    air.scripts["do b"] = [lambda flight: seen.append(dict(flight.events))]
    air.fly()
    air.journal.tell(None, "by hand")
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert seen == [{"": "by hand"}]


def test_one_event_ends_one_wait() -> None:
    air = Air("a b c", do_a=[Wait("approved")], do_b=[Wait("approved")])
    air.fly()
    air.journal.tell("approved", 1)
    assert air.fly().how is FlightEnd.SUSPENDED
    assert air.called == "do a, do b"
    assert air.fly().how is FlightEnd.SUSPENDED
    air.journal.tell("approved", 2)
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert [entry.event for entry in air.journal.entries if entry.event] == [1, 2]


def test_events_end_waits_in_the_order_of_their_arrival() -> None:
    air = Air("a b c", do_a=[Wait("y")], do_b=[Wait()])
    for name in ("x", "y", "z"):
        air.journal.tell(name, name)
    seen: list[Any] = []
    air.scripts["do c"] = [lambda flight: seen.append(dict(flight.events))]
    assert [air.fly().how for _ in range(3)] == [
        FlightEnd.SUSPENDED,
        FlightEnd.SUSPENDED,
        FlightEnd.SUCCEEDED,
    ]
    assert seen == [{"y": "y", "x": "x"}]


def test_a_later_run_can_still_read_earlier_events() -> None:
    air = Air("a b c", do_a=[Wait("approved")], do_b=[Stop])
    seen: list[Any] = []
    air.scripts["do c"] = [lambda flight: seen.append(dict(flight.events))]
    air.fly()
    air.journal.tell("approved", 7)
    assert air.lands().how is FlightEnd.SUCCEEDED
    assert seen == [{"approved": 7}]


def test_a_wait_that_times_out_fails_the_step_that_waited() -> None:
    air = _waits(event="approved", timeout="1d")
    air.fly()
    air.journal.overdue = True
    landing = air.fly()
    assert landing.how is FlightEnd.UNDONE
    assert str(landing.failure) == "WaitTimedOut: approved has not arrived within 86400 s"
    assert landing.failure is not None
    assert landing.failure.step == "a"
    assert air.called == "do a, undo a"


def test_a_wait_with_go_on_continues_without_the_event_after_its_timeout() -> None:
    air = _waits(event="approved", timeout="1d", otherwise="go_on")
    seen: list[Any] = []
    air.scripts["do b"] = [lambda flight: seen.append(dict(flight.events))]
    air.fly()
    air.journal.overdue = True
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert (air.called, seen) == ("do a, do b", [{}])
    assert air.journal.lines == ["do 0 awaits", "do 0 came", "do 1 done"]


def test_an_existing_event_counts_even_after_the_timeout() -> None:
    air = _waits(event="approved", timeout="1d")
    air.fly()
    air.journal.tell("approved")
    air.journal.overdue = True
    assert air.fly().how is FlightEnd.SUCCEEDED


@pytest.mark.parametrize("otherwise", ["undo", "go_on"])
def test_a_wait_during_the_undo_continues_after_its_timeout(otherwise: Any) -> None:
    air = Air("a b", do_b=[Fatal("full")], undo_b=[Wait("refunded", timeout="1d", otherwise=otherwise)])
    assert air.fly().how is FlightEnd.SUSPENDED
    air.journal.overdue = True
    landing = air.fly()
    assert (landing.how, str(landing.failure)) == (FlightEnd.UNDONE, "Fatal: full")
    assert air.called == "do a, do b, undo b, undo a"


def test_a_wait_during_the_undo_skips_no_step() -> None:
    air = Air("a b", do_b=[Fatal], undo_b=[Wait("refunded")])
    assert air.fly().how is FlightEnd.SUSPENDED
    assert air.fly().how is FlightEnd.SUSPENDED
    air.journal.tell("refunded")
    assert air.fly().how is FlightEnd.UNDONE
    assert air.called == "do a, do b, undo b, undo a"


def test_the_last_step_may_wait_too() -> None:
    air = Air("a", do_a=[Wait("seen")])
    assert air.fly().how is FlightEnd.SUSPENDED
    air.journal.tell("seen")
    assert air.fly().how is FlightEnd.SUCCEEDED


def test_a_crash_after_the_event_was_taken_does_not_repeat_the_wait() -> None:
    air = _waits(event="approved")
    air.scripts["do b"] = [air.crash]
    air.fly()
    air.journal.tell("approved", 1)
    assert air.fly().how is FlightEnd.LOST
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.called == "do a, do b, do b"


def test_a_worker_that_stops_during_the_step_still_suspends_the_flight() -> None:
    air = Air("a b")
    air.scripts["do a"] = [both(air.stop, lambda _: Wait("approved"))]
    assert air.fly().how is FlightEnd.SUSPENDED
    air.journal.tell("approved")
    assert air.fly().how is FlightEnd.SUCCEEDED


@pytest.mark.parametrize(
    "words",
    [
        {"event": ""},
        {"event": "a\0b"},
        {"event": "\ud800"},
        {"event": "x" * 201},
        {"event": 7},
        {"timeout": -1},
        {"timeout": float("nan")},
        {"timeout": "soon"},
        {"otherwise": "hope"},
    ],
)
def test_a_wait_that_a_ledger_cannot_store_fails_its_step(words: Any) -> None:
    air = Air("a", do_a=[lambda _: Wait(**words)])
    landing = air.fly()
    assert landing.how is FlightEnd.UNDONE
    assert landing.failure is not None
    assert landing.failure.type == "ValueError"
