"""A whole flight, forward and back: the steps that are called, and its end."""

import logging

import pytest

from sluice import Fatal, Rerun, Retry, Stop, Success
from sluice.jobs.sagas.flight import Flight
from sluice.jobs.sagas.result import FlightEnd
from tests.jobs.sagas.air import Air, Raised, puts


def test_the_steps_of_a_flight_run_in_order() -> None:
    air = Air("a b c")
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.called == "do a, do b, do c"
    assert air.journal.lines == ["do 0 done", "do 1 done", "do 2 done"]
    assert [entry.seq for entry in air.journal.entries] == [1, 2, 3]
    assert [(entry.name, entry.steps) for entry in air.journal.entries] == [("a", 3), ("b", 3), ("c", 3)]


def test_a_saga_without_steps_has_nothing_to_do() -> None:
    assert Air("").fly().how is FlightEnd.SUCCEEDED


@pytest.mark.parametrize(
    ("failing", "called"),
    [
        ("do_a", "do a, undo a"),
        ("do_b", "do a, do b, undo b, undo a"),
        ("do_c", "do a, do b, do c, undo c, undo b, undo a"),
    ],
)
@pytest.mark.parametrize("answer", [Fatal, Fatal("full"), Raised(Fatal("full")), Raised(ValueError("full"))])
def test_the_undo_begins_with_the_failed_step_and_ends_with_the_first(
    failing: str, called: str, answer: object
) -> None:
    air = Air("a b c", **{failing: [answer]})
    landing = air.fly()
    assert landing.how is FlightEnd.UNDONE
    assert air.called == called
    assert landing.failure is not None
    assert landing.failure.step == failing.removeprefix("do_")


def test_an_exception_is_reported_with_its_step_and_traceback() -> None:
    def breaks(_: Flight) -> None:
        raise ValueError("x")

    failure = Air("a b", do_b=[breaks]).fly().failure
    assert failure is not None
    assert (failure.type, failure.message, failure.step) == ("ValueError", "x", "b")
    assert "in breaks" in failure.traceback
    assert "pilot.py" not in failure.traceback


def test_a_fatal_answer_is_reported_with_its_message_and_no_traceback() -> None:
    failure = Air("a", do_a=[Fatal("LX318 is full")]).fly().failure
    assert failure is not None
    assert (str(failure), failure.traceback) == ("Fatal: LX318 is full", "")


def test_the_journal_has_the_switch_to_undo_with_its_reason() -> None:
    air = Air("a b", do_b=[Fatal("full")])
    air.fly()
    assert air.journal.lines == ["do 0 done", "switch 1 done", "undo 1 done", "undo 0 done"]
    assert [str(entry.failure) for entry in air.journal.entries] == ["None", "Fatal: full", "None", "None"]


def test_a_failed_undo_is_recorded_and_logged_as_an_error(caplog: pytest.LogCaptureFixture) -> None:
    air = Air("a b", do_b=[Fatal("full")], undo_a=[Fatal("closed")])
    landing = air.fly()
    assert landing.how is FlightEnd.UNDO_FAILED
    assert air.called == "do a, do b, undo b, undo a"
    assert str(landing.failure) == "Fatal: full"
    assert str(landing.trouble) == "Fatal: closed"
    assert air.journal.lines[-1] == "undo 0 undo_failed"
    assert str(air.journal.entries[-1].failure) == "Fatal: closed"
    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert errors == ["DISMAL FAILURE: undo of a failed: Fatal: closed"]


def test_no_further_step_is_undone_after_a_failed_undo() -> None:
    air = Air("a b c", do_c=[Fatal], undo_c=[Raised(OSError("away"))])
    assert air.fly().how is FlightEnd.UNDO_FAILED
    assert air.called == "do a, do b, do c, undo c"


@pytest.mark.parametrize("times", [1, 3])
def test_the_next_run_after_a_failed_undo_continues_with_that_undo(times: int) -> None:
    air = Air("a b c", do_c=[Fatal("full")], undo_b=[Fatal("closed")] * times)
    assert [air.fly().how for _ in range(times)] == [FlightEnd.UNDO_FAILED] * times
    landing = air.fly()
    assert landing.how is FlightEnd.UNDONE
    assert str(landing.failure) == "Fatal: full"
    assert air.called == "do a, do b, do c, undo c" + ", undo b" * (times + 1) + ", undo a"


@pytest.mark.parametrize(
    ("failure", "undone"),
    [(None, FlightEnd.SUCCEEDED), ("do_b", FlightEnd.UNDONE), ("undo_b", FlightEnd.UNDO_FAILED)],
)
def test_a_flight_ends_succeeded_undone_or_with_a_failed_undo(failure: str | None, undone: FlightEnd) -> None:
    scripted = {"do_b": [Fatal]} if failure else {}
    air = Air("a b", **scripted, **({"undo_b": [Fatal]} if failure == "undo_b" else {}))
    assert air.fly().how is undone


def test_a_loop_repeats_its_step_and_stores_the_map_after_each_pass() -> None:
    air = Air("a b", do_a=[puts("n", 1, Rerun), puts("n", 2, Rerun()), puts("n", 3, Success)])
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.called == "do a, do a, do a, do b"
    assert air.journal.lines == ["do 0 again", "do 0 again", "do 0 done", "do 1 done"]
    assert [entry.working["n"] for entry in air.journal.entries] == [1, 2, 3, 3]


@pytest.mark.parametrize("passes", range(4))
def test_a_failed_loop_can_be_undone_by_a_loop(passes: int) -> None:
    """Each do adds one to a counter. Each undo subtracts one, until the counter is below zero."""

    def down(flight: Flight) -> object:
        flight.working["n"] = flight.working.get("n", 0) - 1
        return Rerun if flight.working["n"] >= 0 else Success

    ups = [puts("n", each + 1, Rerun) for each in range(passes)]
    air = Air("a", do_a=[*ups, Fatal], undo_a=[down] * 9)
    assert air.fly().how is FlightEnd.UNDONE
    assert air.calls == ["do a"] * (passes + 1) + ["undo a"] * (passes + 1)


def test_a_step_that_answers_stop_hands_the_flight_back() -> None:
    air = Air("a b c", do_b=[puts("n", 7, Stop)])
    assert air.fly().how is FlightEnd.HANDED_BACK
    assert air.called == "do a, do b"
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.called == "do a, do b, do c"
    assert air.journal.entries[-1].working == {"n": 7}


def test_a_stop_during_the_undo_skips_no_step() -> None:
    air = Air("a b c", do_c=[Fatal], undo_b=[Stop])
    assert air.fly().how is FlightEnd.HANDED_BACK
    assert air.fly().how is FlightEnd.UNDONE
    assert air.called == "do a, do b, do c, undo c, undo b, undo a"


def test_two_flights_of_a_saga_are_independent() -> None:
    one, other = Air("a b", do_b=[Retry]), Air("a b")
    assert one.fly().how is FlightEnd.UNDONE
    assert other.fly().how is FlightEnd.SUCCEEDED
    assert other.called == "do a, do b"
