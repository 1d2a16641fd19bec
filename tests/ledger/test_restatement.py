"""Existing partitions that are made again, alone or with all partitions that were made from them."""

from typing import Any

import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger.lifecycle.claims import ClaimedJob
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

#: Each day of ``b`` reads ``a`` of the same day and of the day before.
CHAIN = lineage("a, b*3: a-1, c*2: b")


def _made(
    world: World, app: str = "c", first: str = "2024-04-02", last: str = "2024-04-07", **words: Any
) -> None:
    world.define(CHAIN)
    ask(world, app, first, last, **words)
    work_off(world)


def _running(world: World) -> tuple[str, ClaimedJob]:
    """Start a step of ``b`` for three days. Return its submission and its claim."""
    world.define(CHAIN)
    id_ = ask(world, "b", "2024-04-02", "2024-04-04")
    work_off(world, only="a/")
    return id_, take(world, "b/2024-04-02..2024-04-04")


def _again(world: World) -> dict[str, int]:
    """Return the partitions that were made more than once, with the number of times."""
    return {
        f"{app}/{day}": times
        for app in ("a", "b", "c")
        for day, times in times_made(world, app).items()
        if times > 1
    }


def test_existing_partitions_are_not_made_again_without_rerun(world: World) -> None:
    _made(world)
    assert ask(world, "a", "2024-04-01", "2024-04-07")
    assert not ready(world)


def test_rerun_job_makes_only_the_requested_partitions_again(world: World) -> None:
    _made(world)
    id_ = ask(world, "b", "2024-04-03", "2024-04-04", rerun="job")
    assert ready(world) == {"b/2024-04-03..2024-04-04"}
    assert there(world, "b") == ["2024-04-02", *days("2024-04-05", "2024-04-07")]
    work_off(world)
    assert _again(world) == {"b/2024-04-03": 2, "b/2024-04-04": 2}
    assert there(world, "b") == days("2024-04-02", "2024-04-07")
    assert world.submission(id_) is SubmissionState.SUCCEEDED


def test_a_rerun_of_exactly_the_days_of_a_step_revives_that_step(world: World) -> None:
    _made(world)
    step = named(world, "b/2024-04-02..2024-04-04")
    ask(world, "b", "2024-04-02", "2024-04-04", rerun="job", policy={"max_fails": 3})
    assert world.state(step) is State.READY
    assert world.field(step, "max_fails") == 3
    assert world.history(step).count(State.SUCCEEDED) == 1
    work_off(world)
    assert world.history(step).count(State.SUCCEEDED) == 2


def test_rerun_downstream_makes_all_derived_partitions_again_after_it(world: World) -> None:
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


def test_rerun_downstream_makes_no_partition_that_did_not_exist(world: World) -> None:
    _made(world, "b", "2024-04-02", "2024-04-04")
    ask(world, "a", "2024-04-02", rerun="downstream")
    assert not states(world, "c")
    work_off(world)
    assert _again(world).keys() == {"a/2024-04-02", "b/2024-04-02", "b/2024-04-03"}


def test_a_failure_during_rerun_downstream_leaves_the_rest_to_the_next_submission(world: World) -> None:
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


def test_a_rerun_joins_a_running_step_and_makes_no_partition_twice(world: World) -> None:
    first, claimed = _running(world)
    second = ask(world, "b", "2024-04-02", "2024-04-05", rerun="job")
    assert states(world, "b").keys() == {"b/2024-04-02..2024-04-04", "b/2024-04-05"}
    world.record(claimed)
    work_off(world)
    assert set(times_made(world, "b").values()) == {1}
    assert world.submission(first) is world.submission(second) is SubmissionState.SUCCEEDED


def test_a_rerun_takes_acknowledged_partitions_from_a_running_step(world: World) -> None:
    _, claimed = _running(world)
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
def test_a_rerun_waits_for_a_running_step_that_has_acknowledged_all_its_partitions(
    world: World, ending: Ending
) -> None:
    first, claimed = _running(world)
    acknowledge(world, claimed, *days("2024-04-02", "2024-04-04"))
    second = ask(world, "b", "2024-04-02", "2024-04-04", rerun="job")
    assert states(world)["b/2024-04-02..2024-04-04"] is State.RUNNING
    assert world.submission(second) is SubmissionState.ACTIVE
    world.cancel(first)
    assert world.record(claimed, ending, error=None if ending is Ending.DONE else "it broke")
    expected = SubmissionState.SUCCEEDED if ending is Ending.DONE else SubmissionState.FAILED
    assert world.submission(second) is expected
    assert there(world, "b") == days("2024-04-02", "2024-04-04")


def test_a_rerun_makes_landed_partitions_again_by_the_app(world: World) -> None:
    world.define(CHAIN)
    world.land("a", *days("2024-04-01", "2024-04-03"))
    ask(world, "a", "2024-04-02", rerun="job")
    assert ready(world) == {"a/2024-04-02"}
    work_off(world)
    assert owners(world, "a") == {"2024-04-02": "a/2024-04-02"}


def test_rerun_downstream_makes_no_partitions_of_external_tables(world: World) -> None:
    world.define(lineage("b*2: elsewhere"))
    world.land("elsewhere", "2024-04-01..2024-04-02")
    ask(world, "b", "2024-04-01", "2024-04-02")
    work_off(world)
    ask(world, "b", "2024-04-01", "2024-04-02", rerun="downstream")
    assert states(world) == {"b/2024-04-01..2024-04-02": State.READY}
