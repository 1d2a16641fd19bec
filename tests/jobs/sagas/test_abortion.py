"""Aborted flights and flights over their timeout. Both are undone, never dropped in the middle."""

from typing import Any

import pytest

from sluice import Fatal, Rerun, Retry, Stop, Success, Wait, retry
from sluice.jobs.sagas.result import FlightEnd
from tests.jobs.sagas.air import Air, both

WHY = "no submission requests it any more"


def _called_off(air: Air) -> Any:
    def act(_: Any) -> None:
        air.journal.abort_reason = WHY

    return act


@pytest.mark.parametrize(
    ("during", "called"),
    [("a", "do a, undo a"), ("b", "do a, do b, undo b, undo a")],
)
def test_an_aborted_flight_undoes_its_begun_steps_at_the_next_boundary(during: str, called: str) -> None:
    air = Air("a b c")
    air.scripts[f"do {during}"] = [_called_off(air)]
    landing = air.fly()
    assert landing.how is FlightEnd.UNDONE
    assert str(landing.failure) == f"CalledOff: {WHY}"
    assert landing.failure is not None
    assert landing.failure.step == during
    assert air.called == called


def test_an_aborted_flight_leaves_a_loop_after_the_current_pass() -> None:
    air = Air("a b")
    air.scripts["do b"] = [Rerun, both(_called_off(air), lambda _: Rerun())]
    assert air.fly().how is FlightEnd.UNDONE
    assert air.called == "do a, do b, do b, undo b, undo a"


def test_an_abort_during_the_last_step_is_too_late() -> None:
    air = Air("a b")
    air.scripts["do b"] = [_called_off(air)]
    assert air.fly().how is FlightEnd.SUCCEEDED


def test_an_abort_during_the_undo_keeps_the_original_reason() -> None:
    air = Air("a b", do_b=[Fatal("full")])
    air.scripts["undo b"] = [_called_off(air)]
    landing = air.fly()
    assert (landing.how, str(landing.failure)) == (FlightEnd.UNDONE, "Fatal: full")
    assert air.called == "do a, do b, undo b, undo a"


def test_a_step_of_an_aborted_flight_fails_for_its_own_reason() -> None:
    air = Air("a")
    air.scripts["do a"] = [both(_called_off(air), lambda _: Fatal("full"))]
    assert str(air.fly().failure) == "Fatal: full"


def test_an_abort_takes_effect_during_a_long_pause() -> None:
    air = Air("a b")
    air.rules["b"] = retry.fixed(seconds="1h", times=5)
    air.scripts["do b"] = [both(_called_off(air), lambda _: Retry())]
    assert air.fly().how is FlightEnd.UNDONE
    assert air.called == "do a, do b, undo b, undo a"
    assert air.now_s < 10


def test_the_journal_is_not_read_at_each_of_many_short_pauses() -> None:
    air = Air("a", do_a=[Retry] * 1000)
    air.rules["a"] = retry.fixed(seconds="10ms", times=1000)
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.journal.heeded <= 6


def test_the_undo_of_an_aborted_flight_follows_its_retry_rule() -> None:
    air = Air("a b", undo_a=[Retry])
    air.rules["a"] = retry.fixed(seconds="1h", times=1)
    air.scripts["do a"] = [_called_off(air)]
    assert air.fly().how is FlightEnd.UNDONE
    assert air.called == "do a, undo a, undo a"


@pytest.mark.parametrize(
    ("during", "called"),
    [("a", "do a, undo a"), ("b", "do a, do b, undo b, undo a")],
)
def test_the_next_run_also_undoes_the_step_in_which_the_worker_died(during: str, called: str) -> None:
    """The step after the last entry may have begun before the worker died."""
    air = Air("a b c")
    air.scripts[f"do {during}"] = [air.crash]
    assert air.fly().how is FlightEnd.LOST
    air.journal.abort_reason = WHY
    assert air.fly().how is FlightEnd.UNDONE
    assert air.called == called


def test_an_abort_after_the_last_step_is_too_late_for_the_next_run() -> None:
    air = Air("a", do_a=[Stop])
    assert air.fly().how is FlightEnd.HANDED_BACK
    air.journal.abort_reason = WHY
    assert air.fly().how is FlightEnd.SUCCEEDED


def test_an_aborted_waiting_flight_undoes_the_step_that_waited() -> None:
    air = Air("a b", do_a=[Wait("approved")])
    air.fly()
    air.journal.abort_reason = WHY
    landing = air.fly()
    assert (landing.how, str(landing.failure)) == (FlightEnd.UNDONE, f"CalledOff: {WHY}")
    assert air.called == "do a, undo a"


def test_an_abort_does_not_affect_a_wait_during_the_undo() -> None:
    air = Air("a", do_a=[Fatal("full")], undo_a=[Wait("refunded")])
    air.fly()
    air.journal.abort_reason = WHY
    assert air.fly().how is FlightEnd.SUSPENDED
    air.journal.tell("refunded")
    landing = air.fly()
    assert (landing.how, str(landing.failure)) == (FlightEnd.UNDONE, "Fatal: full")


def test_an_abort_may_be_withdrawn_before_the_next_boundary() -> None:
    air, seen = Air("a b"), list[bool]()

    def wanted_again(flight: Any) -> None:
        air.now_s += 60
        seen.append(flight.cancelled)
        air.journal.abort_reason = None

    air.scripts["do a"] = [both(_called_off(air), wanted_again)]
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert seen == [True]


# Timeouts.


def _takes(air: Air, seconds: float, answer: Any = None) -> Any:
    def act(_: Any) -> Any:
        air.now_s += seconds
        return answer

    return act


def test_a_flight_over_its_timeout_fails_at_the_next_boundary() -> None:
    air = Air("a b c")
    air.timeout_s = 10
    air.scripts["do b"] = [_takes(air, 11)]
    landing = air.fly()
    assert (landing.how, str(landing.failure)) == (FlightEnd.UNDONE, "TimedOut: It is over time.")
    assert air.called == "do a, do b, undo b, undo a"


def test_a_step_is_not_retried_after_the_timeout_of_its_flight() -> None:
    air = Air("a")
    air.rules["a"] = retry.fixed(seconds=3, times=99)
    air.timeout_s = 10
    air.scripts["do a"] = [Retry] * 99
    assert air.fly().how is FlightEnd.UNDONE
    assert air.called == "do a, do a, do a, do a, undo a"


def test_a_timeout_during_the_last_step_is_too_late() -> None:
    air = Air("a")
    air.timeout_s = 10
    air.scripts["do a"] = [_takes(air, 11)]
    assert air.fly().how is FlightEnd.SUCCEEDED


def test_the_undo_has_no_timeout() -> None:
    air = Air("a b", do_b=[Fatal("full")])
    air.timeout_s = 10
    air.rules["a"] = retry.fixed(seconds=60, times=1)
    air.scripts["undo b"] = [_takes(air, 99)]
    air.scripts["undo a"] = [Retry]
    landing = air.fly()
    assert (landing.how, str(landing.failure)) == (FlightEnd.UNDONE, "Fatal: full")


def test_the_timeout_begins_again_with_each_run() -> None:
    air = Air("a b")
    air.timeout_s = 10
    air.scripts["do a"] = [_takes(air, 9, Stop)]
    air.scripts["do b"] = [_takes(air, 9)]
    assert air.fly().how is FlightEnd.HANDED_BACK
    assert air.fly().how is FlightEnd.SUCCEEDED


# ``flight.cancelled``, as a step reads it.


def _loops(air: Air, seen: list[bool]) -> Any:
    """Return a script entry that reads ``flight.cancelled`` every second, for at most a minute."""

    def act(flight: Any) -> None:
        for _ in range(60):
            if flight.cancelled:
                break
            air.now_s += 1
        seen.append(flight.cancelled)

    return act


def test_a_long_step_can_detect_that_the_flight_is_aborted() -> None:
    air, seen = Air("a b"), list[bool]()
    air.scripts["do a"] = [both(_called_off(air), _loops(air, seen))]
    assert air.fly().how is FlightEnd.UNDONE
    assert (seen, air.called) == ([True], "do a, undo a")
    assert air.now_s < 10


def test_a_long_step_can_detect_that_its_flight_is_over_its_timeout() -> None:
    air, seen = Air("a b"), list[bool]()
    air.timeout_s = 10
    air.scripts["do a"] = [_loops(air, seen)]
    assert air.fly().how is FlightEnd.UNDONE
    assert (seen, air.now_s) == ([True], 11)


def test_a_long_step_can_detect_that_its_worker_stops_and_its_answer_counts() -> None:
    air, seen = Air("a b"), list[bool]()
    air.scripts["do a"] = [both(air.stop, _loops(air, seen), lambda _: Success())]
    assert air.fly().how is FlightEnd.HANDED_BACK
    assert (seen, air.journal.lines) == ([True], ["do 0 done"])


def test_a_long_step_can_detect_that_another_worker_has_the_flight() -> None:
    air, seen = Air("a b"), list[bool]()
    air.scripts["do a"] = [both(air.crash, _loops(air, seen))]
    assert air.fly().how is FlightEnd.LOST
    assert seen == [True]


@pytest.mark.parametrize("trouble", ["called off", "over time"])
def test_an_undo_is_not_interrupted_by_an_abort_or_timeout(trouble: str) -> None:
    air, seen = Air("a", do_a=[Fatal]), list[bool]()
    if trouble == "over time":
        air.timeout_s = 10
    air.scripts["undo a"] = [
        both(_called_off(air) if trouble == "called off" else _takes(air, 0), _loops(air, seen))
    ]
    assert air.fly().how is FlightEnd.UNDONE
    assert (seen, air.now_s) == ([False], 60)


def test_an_undo_can_detect_that_its_worker_stops() -> None:
    air, seen = Air("a", do_a=[Fatal]), list[bool]()
    air.scripts["undo a"] = [both(air.stop, _loops(air, seen), lambda _: Rerun())]
    assert air.fly().how is FlightEnd.HANDED_BACK
    assert seen == [True]
    assert air.fly().how is FlightEnd.UNDONE
