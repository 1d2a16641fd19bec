"""A flight that is called off, or over its timeout: it is undone, never dropped half way."""

from typing import Any

import pytest

from sluice import Fatal, Rerun, Retry, Stop, Success, Wait, retry
from sluice.jobs.sagas.landing import Landed
from tests.jobs.sagas.air import Air, both

WHY = "nobody wants it any more"


def _called_off(air: Air) -> Any:
    def act(_: Any) -> None:
        air.journal.turn_back = WHY

    return act


@pytest.mark.parametrize(
    ("during", "called"),
    [("a", "do a, undo a"), ("b", "do a, do b, undo b, undo a")],
)
def test_it_turns_back_at_the_next_boundary_and_undoes_what_has_begun(during: str, called: str) -> None:
    air = Air("a b c")
    air.scripts[f"do {during}"] = [_called_off(air)]
    landing = air.fly()
    assert landing.how is Landed.UNDONE
    assert str(landing.failure) == f"CalledOff: {WHY}"
    assert landing.failure is not None
    assert landing.failure.step == during
    assert air.called == called


def test_it_turns_back_from_the_pass_of_a_loop() -> None:
    air = Air("a b")
    air.scripts["do b"] = [Rerun, both(_called_off(air), lambda _: Rerun())]
    assert air.fly().how is Landed.UNDONE
    assert air.called == "do a, do b, do b, undo b, undo a"


def test_it_comes_too_late_when_the_last_step_is_done() -> None:
    air = Air("a b")
    air.scripts["do b"] = [_called_off(air)]
    assert air.fly().how is Landed.SUCCEEDED


def test_a_flight_that_is_undone_already_goes_on_with_that_for_its_own_reason() -> None:
    air = Air("a b", do_b=[Fatal("full")])
    air.scripts["undo b"] = [_called_off(air)]
    landing = air.fly()
    assert (landing.how, str(landing.failure)) == (Landed.UNDONE, "Fatal: full")
    assert air.called == "do a, do b, undo b, undo a"


def test_a_step_that_fails_fails_for_its_own_reason_though_the_flight_was_called_off() -> None:
    air = Air("a")
    air.scripts["do a"] = [both(_called_off(air), lambda _: Fatal("full"))]
    assert str(air.fly().failure) == "Fatal: full"


def test_it_is_heard_in_a_long_pause() -> None:
    air = Air("a b")
    air.rules["b"] = retry.fixed(seconds="1h", times=5)
    air.scripts["do b"] = [both(_called_off(air), lambda _: Retry())]
    assert air.fly().how is Landed.UNDONE
    assert air.called == "do a, do b, undo b, undo a"
    assert air.now_s < 10


def test_the_journal_is_not_asked_at_each_of_many_short_pauses() -> None:
    air = Air("a", do_a=[Retry] * 1000)
    air.rules["a"] = retry.fixed(seconds="10ms", times=1000)
    assert air.fly().how is Landed.SUCCEEDED
    assert air.journal.heeded <= 6


def test_the_undo_of_a_flight_that_was_called_off_is_tried_again_as_any() -> None:
    air = Air("a b", undo_a=[Retry])
    air.rules["a"] = retry.fixed(seconds="1h", times=1)
    air.scripts["do a"] = [_called_off(air)]
    assert air.fly().how is Landed.UNDONE
    assert air.called == "do a, undo a, undo a"


def test_it_is_heard_by_whoever_takes_the_flight_up() -> None:
    """What follows on the last entry may have begun with the worker that died."""
    air = Air("a b c")
    air.scripts["do b"] = [air.crash]
    assert air.fly().how is Landed.LOST
    air.journal.turn_back = WHY
    assert air.fly().how is Landed.UNDONE
    assert air.called == "do a, do b, undo b, undo a"


def test_a_flight_that_may_have_begun_its_first_step_undoes_it() -> None:
    air = Air("a b")
    air.scripts["do a"] = [air.crash]
    assert air.fly().how is Landed.LOST
    air.journal.turn_back = WHY
    assert air.fly().how is Landed.UNDONE
    assert air.called == "do a, undo a"


def test_whoever_takes_up_a_finished_flight_is_too_late_to_turn_back() -> None:
    air = Air("a", do_a=[Stop])
    assert air.fly().how is Landed.HANDED_BACK
    air.journal.turn_back = WHY
    assert air.fly().how is Landed.SUCCEEDED


def test_a_flight_that_waits_turns_back_from_the_step_that_waited() -> None:
    air = Air("a b", do_a=[Wait("approved")])
    air.fly()
    air.journal.turn_back = WHY
    landing = air.fly()
    assert (landing.how, str(landing.failure)) == (Landed.UNDONE, f"CalledOff: {WHY}")
    assert air.called == "do a, undo a"


def test_a_flight_that_waits_on_its_way_back_does_not_turn() -> None:
    air = Air("a", do_a=[Fatal("full")], undo_a=[Wait("refunded")])
    air.fly()
    air.journal.turn_back = WHY
    assert air.fly().how is Landed.SUSPENDED
    air.journal.tell("refunded")
    landing = air.fly()
    assert (landing.how, str(landing.failure)) == (Landed.UNDONE, "Fatal: full")


def test_who_called_it_off_may_think_better_of_it() -> None:
    air, seen = Air("a b"), list[bool]()

    def wanted_again(flight: Any) -> None:
        air.now_s += 60
        seen.append(flight.cancelled)
        air.journal.turn_back = None

    air.scripts["do a"] = [both(_called_off(air), wanted_again)]
    assert air.fly().how is Landed.SUCCEEDED
    assert seen == [True]


# Over its timeout.


def _takes(air: Air, seconds: float, answer: Any = None) -> Any:
    def act(_: Any) -> Any:
        air.now_s += seconds
        return answer

    return act


def test_a_flight_over_its_timeout_has_failed_at_the_next_boundary() -> None:
    air = Air("a b c")
    air.timeout_s = 10
    air.scripts["do b"] = [_takes(air, 11)]
    landing = air.fly()
    assert (landing.how, str(landing.failure)) == (Landed.UNDONE, "TimedOut: It is over time.")
    assert air.called == "do a, do b, undo b, undo a"


def test_a_flight_over_its_timeout_is_not_tried_again() -> None:
    air = Air("a")
    air.rules["a"] = retry.fixed(seconds=3, times=99)
    air.timeout_s = 10
    air.scripts["do a"] = [Retry] * 99
    assert air.fly().how is Landed.UNDONE
    assert air.called == "do a, do a, do a, do a, undo a"


def test_a_flight_whose_last_step_took_it_over_its_timeout_has_succeeded() -> None:
    air = Air("a")
    air.timeout_s = 10
    air.scripts["do a"] = [_takes(air, 11)]
    assert air.fly().how is Landed.SUCCEEDED


def test_to_undo_takes_as_long_as_it_takes() -> None:
    air = Air("a b", do_b=[Fatal("full")])
    air.timeout_s = 10
    air.rules["a"] = retry.fixed(seconds=60, times=1)
    air.scripts["undo b"] = [_takes(air, 99)]
    air.scripts["undo a"] = [Retry]
    landing = air.fly()
    assert (landing.how, str(landing.failure)) == (Landed.UNDONE, "Fatal: full")


def test_each_run_has_its_own_time() -> None:
    air = Air("a b")
    air.timeout_s = 10
    air.scripts["do a"] = [_takes(air, 9, Stop)]
    air.scripts["do b"] = [_takes(air, 9)]
    assert air.fly().how is Landed.HANDED_BACK
    assert air.fly().how is Landed.SUCCEEDED


# What a step sees of it.


def _loops(air: Air, seen: list[bool]) -> Any:
    """Looks up every second, and for no longer than a minute."""

    def act(flight: Any) -> None:
        for _ in range(60):
            if flight.cancelled:
                break
            air.now_s += 1
        seen.append(flight.cancelled)

    return act


def test_a_step_in_a_long_loop_hears_that_the_flight_is_called_off() -> None:
    air, seen = Air("a b"), list[bool]()
    air.scripts["do a"] = [both(_called_off(air), _loops(air, seen))]
    assert air.fly().how is Landed.UNDONE
    assert (seen, air.called) == ([True], "do a, undo a")
    assert air.now_s < 10


def test_a_step_in_a_long_loop_hears_that_it_is_over_time() -> None:
    air, seen = Air("a b"), list[bool]()
    air.timeout_s = 10
    air.scripts["do a"] = [_loops(air, seen)]
    assert air.fly().how is Landed.UNDONE
    assert (seen, air.now_s) == ([True], 11)


def test_a_step_in_a_long_loop_hears_that_its_worker_leaves_and_its_answer_counts() -> None:
    air, seen = Air("a b"), list[bool]()
    air.scripts["do a"] = [both(air.stop, _loops(air, seen), lambda _: Success())]
    assert air.fly().how is Landed.HANDED_BACK
    assert (seen, air.journal.lines) == ([True], ["do 0 done"])


def test_a_step_in_a_long_loop_hears_that_the_flight_was_taken_over() -> None:
    air, seen = Air("a b"), list[bool]()
    air.scripts["do a"] = [both(air.crash, _loops(air, seen))]
    assert air.fly().how is Landed.LOST
    assert seen == [True]


@pytest.mark.parametrize("trouble", ["called off", "over time"])
def test_an_undo_is_not_hurried(trouble: str) -> None:
    air, seen = Air("a", do_a=[Fatal]), list[bool]()
    if trouble == "over time":
        air.timeout_s = 10
    air.scripts["undo a"] = [
        both(_called_off(air) if trouble == "called off" else _takes(air, 0), _loops(air, seen))
    ]
    assert air.fly().how is Landed.UNDONE
    assert (seen, air.now_s) == ([False], 60)


def test_an_undo_hears_that_its_worker_leaves() -> None:
    air, seen = Air("a", do_a=[Fatal]), list[bool]()
    air.scripts["undo a"] = [both(air.stop, _loops(air, seen), lambda _: Rerun())]
    assert air.fly().how is Landed.HANDED_BACK
    assert seen == [True]
    assert air.fly().how is Landed.UNDONE
