"""Bisected chunks while messages are lost, planners die, and users cancel and rerun jobs."""

from collections import Counter
from collections.abc import Callable

import pytest

from sluice.broker.messages import Message
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger.fixtures import empty
from sluice.ledger.recovery.invariants import breaches
from tests.ledger.poisoned_chunks import Farm, die_over
from tests.world import World

#: Maximum number of statements of a handler here.
STATEMENTS_MAX = 60
#: Function that makes a chunk fail. It returns the messages, which are not delivered yet.
End = Callable[[Farm, str], list[Message]]


def test_a_duplicate_message_splits_a_chunk_once(world: World) -> None:
    farm = Farm(world, "a:4", timeout=5)
    farm.submit("a", [[1, 8]])
    for news in (farm.fail("a/1-4@1"), farm.time_out("a/5-8@1")):
        world.queue.extend([*news, *news])
        world.deliver()
        world.queue.extend(news)
        world.deliver()
    assert world.ready() == {"a/1-2@1", "a/3-4@1", "a/5-6@1", "a/7-8@1"}
    farm.work()
    farm.assert_poison_stands_alone("a", range(1, 9))


def test_the_groomer_splits_chunks_after_lost_messages(world: World) -> None:
    farm = Farm(world, "a:4", timeout=5)
    farm.submit("a", [[1, 8]])
    farm.fail("a/1-4@1")
    farm.time_out("a/5-8@1")
    world.tick(after_s=11)
    world.lose_messages()
    world.tick(after_s=11)
    assert len(world.offered) == 4
    farm.work()
    farm.assert_poison_stands_alone("a", range(1, 9))


@pytest.mark.parametrize("ends", [Farm.fail, Farm.time_out], ids=["failed", "timed-out"])
def test_a_split_survives_a_planner_that_dies_at_any_statement(world: World, ends: End) -> None:
    for statement in range(STATEMENTS_MAX):
        world.ledger.transact(empty)
        world.worker = world.hire()
        farm = Farm(world, "a:2 -> b:1", timeout=5)
        farm.poison = {2}
        farm.submit("b", [1, 2])
        died = die_over(world, ends(farm, "a/1-2@1"), before=statement)
        for _ in range(3):
            world.tick(after_s=11)
        world.worker = world.hire()
        farm.work()
        farm.assert_poison_stands_alone("a", [1, 2])
        assert farm.come_to("b") == {1: State.SUCCEEDED, 2: State.UPSTREAM_FAILED}
        assert not world.ledger.transact(breaches)
        if not died:
            return
    raise AssertionError("a handler has more statements than it should")


def test_cancelling_after_one_half_stops_the_other_half(world: World) -> None:
    farm = Farm(world, "a:4 -> b:4")
    submission = farm.submit("b", [[1, 4]])
    farm.run("a/1-4@1", fails=True)
    farm.run("a/1-2@1")
    world.cancel(submission)
    assert world.states() == {
        "a/1-4@1": State.SPLIT,
        "a/1-2@1": State.SUCCEEDED,
        "a/3-4@1": State.CANCELLED,
        "b/1-4@1": State.CANCELLED,
    }


@pytest.mark.parametrize("ends", [Farm.fail, Farm.time_out], ids=["failed", "timed-out"])
def test_a_failed_chunk_of_a_cancelled_submission_is_split_but_not_run(world: World, ends: End) -> None:
    farm = Farm(world, "a:4 -> b:4", timeout=5)
    submission = farm.submit("b", [[1, 4]])
    news = ends(farm, "a/1-4@1")
    world.cancel(submission)
    world.queue.extend(news)
    world.deliver()
    assert [chunk.state for chunk in farm.chunks("a")] == [State.SPLIT, State.CANCELLED, State.CANCELLED]
    world.submit("b", "1-4@1", rerun="job")
    farm.work()
    assert world.state("b/1-4@1") is State.SUCCEEDED


def test_halves_run_for_each_submission_that_wanted_the_whole(world: World) -> None:
    farm = Farm(world, "a:4")
    first = farm.submit("a", [[1, 4]])
    second = world.submit("a", "1-4@1")
    farm.poison = {1}
    farm.run("a/1-4@1")
    world.cancel(first)
    farm.work()
    farm.assert_poison_stands_alone("a", range(1, 5))
    assert world.submission(second) is SubmissionState.FAILED


def test_a_rerun_of_a_fixed_poison_id_also_runs_its_upstream_failed_children(world: World) -> None:
    farm = Farm(world, "a:4 -> b:4")
    farm.poison = {3}
    farm.submit("b", [[1, 4]])
    farm.work()
    farm.poison = set()
    retry = world.submit("a", "3@1", rerun="job")
    farm.work()
    assert farm.runs[-2:] == [("a", (3,)), ("b", (1, 2, 3, 4))]
    assert farm.done("b") == Counter([1, 2, 3, 4])
    assert world.submission(retry) is SubmissionState.SUCCEEDED


def test_a_rerun_of_a_child_reruns_only_the_poison_ids(world: World) -> None:
    farm = Farm(world, "a:4 -> b:4")
    farm.poison = {3}
    farm.submit("b", [[1, 4]])
    farm.work()
    before = len(farm.runs)
    world.submit("b", "1-4@1", rerun="job")
    farm.work()
    assert farm.runs[before:] == [("a", (3,))]
    assert world.state("b/1-4@1") is State.UPSTREAM_FAILED


@pytest.mark.parametrize("words", [{}, {"rerun": "job"}, {"rerun": "downstream"}], ids=str)
def test_a_request_for_a_split_chunk_is_refused(world: World, words: dict[str, str]) -> None:
    farm = Farm(world, "a:2")
    farm.submit("a", [1, 2])
    farm.run("a/1-2@1", fails=True)
    submission = world.submit("a", "1-2@1", **words)
    assert world.submission(submission) is SubmissionState.REFUSED
    assert "was split" in world.reason(submission)


def test_rerun_downstream_reruns_the_halves_that_share_ids_with_the_parent(world: World) -> None:
    farm = Farm(world, "p:4 -> a:8 -> b:2")
    submission = farm.submit("b", [[1, 8]])
    farm.run("p/1-4@1")
    farm.run("p/5-8@1")
    farm.run("a/1-8@1", fails=True)
    farm.work()
    assert world.submission(submission) is SubmissionState.SUCCEEDED
    farm.runs.clear()
    world.submit("p", "5-8@1", rerun="downstream")
    farm.work()
    assert farm.runs == [("p", (5, 6, 7, 8)), ("a", (5, 6, 7, 8)), ("b", (5, 6)), ("b", (7, 8))]


def test_a_parent_that_fails_in_a_rerun_is_split_for_its_split_children(world: World) -> None:
    farm = Farm(world, "p:4 -> a:4 -> b:4")
    farm.submit("b", [[1, 4]])
    farm.run("p/1-4@1")
    farm.run("a/1-4@1", fails=True)
    farm.work()
    farm.good.clear()
    farm.poison = {4}
    world.submit("p", "1-4@1", rerun="downstream")
    farm.work()
    assert farm.come_to("p")[4] is State.FAILED
    assert (world.state("a/1-2@1"), world.state("a/3-4@1")) == (State.SUCCEEDED, State.UPSTREAM_FAILED)
    assert farm.done("a") == Counter([1, 2])


def test_a_chunk_that_fails_in_a_rerun_leaves_succeeded_children_alone(world: World) -> None:
    farm = Farm(world, "a:2 -> b:2")
    farm.submit("b", [1, 2])
    farm.work()
    farm.poison = {2}
    world.submit("a", "1-2@1", rerun="job")
    farm.work()
    assert farm.come_to("a") == {1: State.SUCCEEDED, 2: State.FAILED}
    assert world.state("b/1-2@1") is State.SUCCEEDED
