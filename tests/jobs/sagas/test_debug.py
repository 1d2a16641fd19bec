"""Failures requested by the option ``debug``: the step really runs, and then another answer replaces its own."""

from typing import Any

import pytest

from sluice import Fatal, Rerun, retry
from sluice.jobs.sagas.debug import Debug
from sluice.jobs.sagas.result import FlightEnd
from tests.jobs.sagas.air import Air, Raised, puts


def _fly(debug: Debug, times: int = 4, **scripted: Any) -> Air:
    air = Air("a b c", **scripted)
    air.debug = debug
    air.rules = dict.fromkeys("abc", retry.fixed(seconds=2, times=times))
    return air


@pytest.mark.parametrize(
    ("debug", "how", "called"),
    [
        (Debug(fail_last=True), FlightEnd.UNDONE, "do a, do b, do c, undo c, undo b, undo a"),
        (Debug(fail_at={1: "fatal"}), FlightEnd.UNDONE, "do a, do b, undo b, undo a"),
        (Debug(fail_at={1: "retry"}), FlightEnd.SUCCEEDED, "do a, do b, do b, do c"),
        (Debug(fail_do={"b": "fatal"}), FlightEnd.UNDONE, "do a, do b, undo b, undo a"),
        (Debug(fail_do={"b": "retry"}), FlightEnd.SUCCEEDED, "do a, do b, do b, do c"),
        (
            Debug(fail_last=True, fail_undo={"b": "retry"}),
            FlightEnd.UNDONE,
            "do a, do b, do c, undo c, undo b, undo b, undo a",
        ),
        (
            Debug(fail_last=True, fail_undo={"b": "fatal"}),
            FlightEnd.UNDO_FAILED,
            "do a, do b, do c, undo c, undo b",
        ),
        (
            Debug(fail_at={7: "fatal"}, fail_do={"x": "fatal"}, fail_undo={"a": "fatal"}),
            FlightEnd.SUCCEEDED,
            "do a, do b, do c",
        ),
        (Debug(fail_at={0: "retry", 2: "retry"}), FlightEnd.SUCCEEDED, "do a, do a, do b, do c, do c"),
    ],
)
def test_debug_makes_these_steps_fail(debug: Debug, how: FlightEnd, called: str) -> None:
    air = _fly(debug)
    assert (air.fly().how, air.called) == (how, called)


def test_the_step_has_really_run_and_its_working_map_is_kept() -> None:
    air = _fly(Debug(fail_at={0: "fatal"}), do_a=[puts("seat", 7)])
    air.fly()
    assert air.journal.entries[0].working == {"seat": 7}


def test_an_injected_failure_is_reported_as_such() -> None:
    landing = _fly(Debug(fail_last=True)).fly()
    assert str(landing.failure) == "Fatal: injected by debug, in place of success"


def test_an_injected_failure_replaces_a_failure_of_the_step() -> None:
    air = _fly(Debug(fail_at={0: "retry"}), do_a=[Fatal("full")])
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.calls[:2] == ["do a", "do a"]


def test_an_injected_failure_hides_the_error_of_the_step() -> None:
    landing = _fly(Debug(fail_at={0: "fatal"}), do_a=[Raised(ValueError("x"))]).fly()
    assert str(landing.failure) == "Fatal: injected by debug, in place of fatal"


def test_the_most_specific_option_applies_first_and_each_applies_once() -> None:
    air = _fly(Debug(fail_at={2: "retry"}, fail_do={"c": "retry"}, fail_last=True))
    assert air.fly().how is FlightEnd.UNDONE
    assert air.called == "do a, do b, do c, do c, do c, undo c, undo b, undo a"


def test_a_step_in_a_loop_is_made_to_fail_once_per_run() -> None:
    air = _fly(Debug(fail_do={"a": "retry"}), do_a=[Rerun, Rerun])
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.calls.count("do a") == 3


def test_a_step_is_made_to_fail_again_in_the_next_run() -> None:
    air = _fly(Debug(fail_do={"b": "retry"}))
    air.scripts["do b"] = [None, air.crash]
    assert air.fly().how is FlightEnd.LOST
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.called == "do a, do b, do b, do b, do b, do c"


def test_steps_that_share_a_name_are_made_to_fail_only_once() -> None:
    air = Air("a a")
    air.debug = Debug(fail_do={"a": "retry"})
    air.rules["a"] = retry.fixed(0, 1)
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.calls == ["do a"] * 3


def test_an_injected_retry_without_a_rule_is_a_failure() -> None:
    air = _fly(Debug(fail_at={0: "retry"}), times=0)
    assert air.fly().how is FlightEnd.UNDONE


@pytest.mark.parametrize(
    "debug", [Debug(), Debug(fail_last=True), Debug(fail_at={1: "fatal"}), Debug(fail_do={"c": "retry"})]
)
def test_restart_each_step_changes_neither_the_calls_nor_the_end(debug: Debug) -> None:
    plain, restarted = _fly(debug), _fly(Debug(**{**_words(debug), "restart_each_step": True}))
    assert plain.lands().how is restarted.lands().how
    assert plain.calls == restarted.calls
    assert restarted.built > plain.built == 1


def _words(debug: Debug) -> dict[str, Any]:
    return {name: getattr(debug, name) for name in Debug.__struct_fields__}
