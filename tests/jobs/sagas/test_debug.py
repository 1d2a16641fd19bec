"""Failures that a submission asks for: the step really runs, and then something else counts as its answer."""

from typing import Any

import pytest

from sluice import Fatal, Rerun, retry
from sluice.jobs.sagas.debug import Debug
from sluice.jobs.sagas.landing import Landed
from tests.jobs.sagas.air import Air, Raised, puts


def _fly(debug: Debug, times: int = 4, **scripted: Any) -> Air:
    air = Air("a b c", **scripted)
    air.debug = debug
    air.rules = dict.fromkeys("abc", retry.fixed(seconds=2, times=times))
    return air


@pytest.mark.parametrize(
    ("debug", "how", "called"),
    [
        (Debug(fail_last=True), Landed.UNDONE, "do a, do b, do c, undo c, undo b, undo a"),
        (Debug(fail_at={1: "fatal"}), Landed.UNDONE, "do a, do b, undo b, undo a"),
        (Debug(fail_at={1: "retry"}), Landed.SUCCEEDED, "do a, do b, do b, do c"),
        (Debug(fail_do={"b": "fatal"}), Landed.UNDONE, "do a, do b, undo b, undo a"),
        (Debug(fail_do={"b": "retry"}), Landed.SUCCEEDED, "do a, do b, do b, do c"),
        (
            Debug(fail_last=True, fail_undo={"b": "retry"}),
            Landed.UNDONE,
            "do a, do b, do c, undo c, undo b, undo b, undo a",
        ),
        (Debug(fail_last=True, fail_undo={"b": "fatal"}), Landed.DISMAL, "do a, do b, do c, undo c, undo b"),
        (
            Debug(fail_at={7: "fatal"}, fail_do={"x": "fatal"}, fail_undo={"a": "fatal"}),
            Landed.SUCCEEDED,
            "do a, do b, do c",
        ),
        (Debug(fail_at={0: "retry", 2: "retry"}), Landed.SUCCEEDED, "do a, do a, do b, do c, do c"),
    ],
)
def test_a_flight_fails_where_it_is_asked_to(debug: Debug, how: Landed, called: str) -> None:
    air = _fly(debug)
    assert (air.fly().how, air.called) == (how, called)


def test_the_step_has_really_run_and_its_map_is_kept() -> None:
    air = _fly(Debug(fail_at={0: "fatal"}), do_a=[puts("seat", 7)])
    air.fly()
    assert air.journal.entries[0].working == {"seat": 7}


def test_what_was_asked_for_says_so() -> None:
    landing = _fly(Debug(fail_last=True)).fly()
    assert str(landing.failure) == "Fatal: asked for by debug, in place of success"


def test_a_failure_of_the_steps_own_is_replaced_too() -> None:
    air = _fly(Debug(fail_at={0: "retry"}), do_a=[Fatal("full")])
    assert air.fly().how is Landed.SUCCEEDED
    assert air.calls[:2] == ["do a", "do a"]


def test_what_the_step_has_raised_is_not_said_of_what_was_asked_for() -> None:
    landing = _fly(Debug(fail_at={0: "fatal"}), do_a=[Raised(ValueError("x"))]).fly()
    assert str(landing.failure) == "Fatal: asked for by debug, in place of fatal"


def test_the_most_particular_is_asked_first_and_each_once() -> None:
    air = _fly(Debug(fail_at={2: "retry"}, fail_do={"c": "retry"}, fail_last=True))
    assert air.fly().how is Landed.UNDONE
    assert air.called == "do a, do b, do c, do c, do c, undo c, undo b, undo a"


def test_each_is_replaced_once_in_a_run() -> None:
    air = _fly(Debug(fail_do={"a": "retry"}), do_a=[Rerun, Rerun])
    assert air.fly().how is Landed.SUCCEEDED
    assert air.calls.count("do a") == 3


def test_it_is_replaced_again_in_the_next_run() -> None:
    air = _fly(Debug(fail_do={"b": "retry"}))
    air.scripts["do b"] = [None, air.crash]
    assert air.fly().how is Landed.LOST
    assert air.fly().how is Landed.SUCCEEDED
    assert air.called == "do a, do b, do b, do b, do b, do c"


def test_steps_of_one_name_fail_once_between_them() -> None:
    air = Air("a a")
    air.debug = Debug(fail_do={"a": "retry"})
    air.rules["a"] = retry.fixed(0, 1)
    assert air.fly().how is Landed.SUCCEEDED
    assert air.calls == ["do a"] * 3


def test_a_retry_that_no_rule_grants_is_a_failure() -> None:
    air = _fly(Debug(fail_at={0: "retry"}), times=0)
    assert air.fly().how is Landed.UNDONE


@pytest.mark.parametrize(
    "debug", [Debug(), Debug(fail_last=True), Debug(fail_at={1: "fatal"}), Debug(fail_do={"c": "retry"})]
)
def test_to_be_handed_back_at_each_boundary_changes_nothing_but_who_flies(debug: Debug) -> None:
    plain, restarted = _fly(debug), _fly(Debug(**{**_words(debug), "restart_each_step": True}))
    assert plain.lands().how is restarted.lands().how
    assert plain.calls == restarted.calls
    assert restarted.built > plain.built == 1


def _words(debug: Debug) -> dict[str, Any]:
    return {name: getattr(debug, name) for name in Debug.__struct_fields__}
