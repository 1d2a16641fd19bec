"""Partitions that are there and made anew, by themselves or with all that was made from them."""

from typing import Any

import pytest

from sluice.jobs.outcome import Ending
from sluice.jobs.states import State
from sluice.jobs.submission import SubmissionState
from tests.ledger.lineages import (
    acknowledge,
    ask,
    days,
    end,
    lineage,
    named,
    needs,
    owners,
    ready,
    states,
    take,
    there,
    times_made,
    work_off,
)
from tests.world import World

#: Each day of ``b`` reads the day before it too.
CHAIN = lineage("a, b*3: a-1, c*2: b")


def _made(
    world: World, app: str = "c", first: str = "2024-04-02", last: str = "2024-04-07", **words: Any
) -> None:
    world.define(CHAIN)
    ask(world, app, first, last, **words)
    work_off(world)


def _again(world: World) -> dict[str, int]:
    """What was made more than once."""
    return {
        f"{app}/{day}": times
        for app in ("a", "b", "c")
        for day, times in times_made(world, app).items()
        if times > 1
    }


def test_without_a_word_what_is_there_is_not_made_anew(world: World) -> None:
    _made(world)
    assert ask(world, "a", "2024-04-01", "2024-04-07")
    assert not ready(world)


def test_what_is_asked_for_is_made_anew_and_nothing_above_or_below_it(world: World) -> None:
    _made(world)
    id_ = ask(world, "b", "2024-04-03", "2024-04-04", rerun="job")
    assert ready(world) == {"b/2024-04-03..2024-04-04"}
    assert there(world, "b") == ["2024-04-02", *days("2024-04-05", "2024-04-07")]
    work_off(world)
    assert _again(world) == {"b/2024-04-03": 2, "b/2024-04-04": 2}
    assert there(world, "b") == days("2024-04-02", "2024-04-07")
    assert world.submission(id_) is SubmissionState.SUCCEEDED


def test_a_step_of_the_same_days_begins_anew_under_its_own_name(world: World) -> None:
    _made(world)
    step = named(world, "b/2024-04-02..2024-04-04")
    ask(world, "b", "2024-04-02", "2024-04-04", rerun="job", policy={"max_fails": 3})
    assert world.state(step) is State.READY
    assert world.field(step, "max_fails") == 3
    assert world.history(step).count(State.SUCCEEDED) == 1
    work_off(world)
    assert world.history(step).count(State.SUCCEEDED) == 2


def test_all_that_was_made_from_it_is_made_anew_after_it(world: World) -> None:
    _made(world)
    id_ = ask(world, "a", "2024-04-03", rerun="downstream")
    assert ready(world) == {"a/2024-04-03"}
    waits = needs(world)
    assert waits["b/2024-04-03..2024-04-04"] == {"a/2024-04-03"}
    assert waits["c/2024-04-03..2024-04-04"] == {"b/2024-04-03..2024-04-04"}
    work_off(world)
    assert _again(world).keys() == {
        f"{app}/{day}" for app in "bc" for day in days("2024-04-03", "2024-04-04")
    } | {"a/2024-04-03"}
    assert world.submission(id_) is SubmissionState.SUCCEEDED


def test_what_is_not_there_further_down_is_not_made_for_it(world: World) -> None:
    _made(world, "b", "2024-04-02", "2024-04-04")
    ask(world, "a", "2024-04-02", rerun="downstream")
    assert not states(world, "c")
    work_off(world)
    assert _again(world).keys() == {"a/2024-04-02", "b/2024-04-02", "b/2024-04-03"}


def test_a_failure_on_the_way_leaves_the_rest_to_the_next(world: World) -> None:
    _made(world)
    id_ = ask(world, "a", "2024-04-03", rerun="downstream")
    end(world, "a/2024-04-03", Ending.ERROR)
    assert world.submission(id_) is SubmissionState.FAILED
    assert states(world)["c/2024-04-03..2024-04-04"] is State.UPSTREAM_FAILED
    assert there(world, "c") == ["2024-04-02", *days("2024-04-05", "2024-04-07")]
    again = ask(world, "c", "2024-04-02", "2024-04-07")
    work_off(world)
    assert world.submission(again) is SubmissionState.SUCCEEDED
    assert there(world, "c") == days("2024-04-02", "2024-04-07")


def test_what_is_under_way_is_joined_and_not_made_twice(world: World) -> None:
    world.define(CHAIN)
    first = ask(world, "b", "2024-04-02", "2024-04-04")
    work_off(world, only="a/")
    claimed = take(world, "b/2024-04-02..2024-04-04")
    second = ask(world, "b", "2024-04-02", "2024-04-05", rerun="job")
    assert states(world, "b").keys() == {"b/2024-04-02..2024-04-04", "b/2024-04-05"}
    world.record(claimed)
    work_off(world)
    assert set(times_made(world, "b").values()) == {1}
    assert world.submission(first) is world.submission(second) is SubmissionState.SUCCEEDED


def test_what_a_running_step_has_made_goes_to_another(world: World) -> None:
    world.define(CHAIN)
    ask(world, "b", "2024-04-02", "2024-04-04")
    work_off(world, only="a/")
    claimed = take(world, "b/2024-04-02..2024-04-04")
    acknowledge(world, claimed, "2024-04-02")
    ask(world, "b", "2024-04-02", rerun="job")
    assert ready(world) == {"b/2024-04-02"}
    assert owners(world, "b")["2024-04-02"] == "b/2024-04-02"
    assert acknowledge(world, claimed, "2024-04-02", "2024-04-03") == [False, True]
    world.record(claimed)
    assert there(world, "b") == ["2024-04-03", "2024-04-04"]
    work_off(world)
    assert there(world, "b") == days("2024-04-02", "2024-04-04")


@pytest.mark.parametrize("ending", [Ending.DONE, Ending.ERROR])
def test_a_step_that_has_made_all_of_it_and_still_runs_is_left_to_its_end(
    world: World, ending: Ending
) -> None:
    world.define(CHAIN)
    first = ask(world, "b", "2024-04-02", "2024-04-04")
    work_off(world, only="a/")
    claimed = take(world, "b/2024-04-02..2024-04-04")
    acknowledge(world, claimed, *days("2024-04-02", "2024-04-04"))
    second = ask(world, "b", "2024-04-02", "2024-04-04", rerun="job")
    assert states(world)["b/2024-04-02..2024-04-04"] is State.RUNNING
    assert world.submission(second) is SubmissionState.ACTIVE
    world.cancel(first)
    assert world.record(claimed, ending, error=None if ending is Ending.DONE else "it broke")
    expected = SubmissionState.SUCCEEDED if ending is Ending.DONE else SubmissionState.FAILED
    assert world.submission(second) is expected
    assert there(world, "b") == days("2024-04-02", "2024-04-04")


def test_what_came_from_elsewhere_is_made_anew_by_the_app(world: World) -> None:
    world.define(CHAIN)
    world.land("a", *days("2024-04-01", "2024-04-03"))
    ask(world, "a", "2024-04-02", rerun="job")
    assert ready(world) == {"a/2024-04-02"}
    work_off(world)
    assert owners(world, "a") == {"2024-04-02": "a/2024-04-02"}


def test_of_what_others_fill_nothing_is_made_anew(world: World) -> None:
    world.define(lineage("b*2: elsewhere"))
    world.land("elsewhere", "2024-04-01..2024-04-02")
    ask(world, "b", "2024-04-01", "2024-04-02")
    work_off(world)
    ask(world, "b", "2024-04-01", "2024-04-02", rerun="downstream")
    assert states(world) == {"b/2024-04-01..2024-04-02": State.READY}
