"""Chunks that are bisected while messages are lost, planners die, and people change their minds."""

from collections import Counter
from collections.abc import Callable

import pytest

from sluice.broker.messages import Message
from sluice.jobs.states import State
from sluice.jobs.submission import SubmissionState
from sluice.ledger.emptying import empty
from sluice.ledger.reads.check import breaches
from tests.ledger.bisecting import Farm, die_over
from tests.world import World

#: No handler here has more statements than this.
STATEMENTS_MAX = 60
#: How a chunk fails: the news of it, which nobody has got yet.
End = Callable[[Farm, str], list[Message]]


def test_a_doubled_message_splits_once(world: World) -> None:
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


def test_a_lost_message_is_made_up_for(world: World) -> None:
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
def test_a_planner_may_die_at_every_statement(world: World, ends: End) -> None:
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


def test_cancelling_in_the_middle_stops_what_is_left(world: World) -> None:
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
def test_what_nobody_wants_any_more_is_split_and_does_not_run(world: World, ends: End) -> None:
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


def test_halves_run_for_whoever_wanted_the_whole(world: World) -> None:
    farm = Farm(world, "a:4")
    first = farm.submit("a", [[1, 4]])
    second = world.submit("a", "1-4@1")
    farm.poison = {1}
    farm.run("a/1-4@1")
    world.cancel(first)
    farm.work()
    farm.assert_poison_stands_alone("a", range(1, 5))
    assert world.submission(second) is SubmissionState.FAILED


def test_a_poison_id_that_was_cured_is_run_again_with_those_it_had_stranded(world: World) -> None:
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


def test_a_child_that_is_run_again_takes_along_the_poison_ids_alone(world: World) -> None:
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
def test_a_chunk_that_was_split_cannot_be_asked_for(world: World, words: dict[str, str]) -> None:
    farm = Farm(world, "a:2")
    farm.submit("a", [1, 2])
    farm.run("a/1-2@1", fails=True)
    submission = world.submit("a", "1-2@1", **words)
    assert world.submission(submission) is SubmissionState.REFUSED
    assert "was split" in world.reason(submission)


def test_all_after_a_parent_that_is_run_again_runs_again_in_halves(world: World) -> None:
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


def test_a_parent_that_fails_when_it_is_run_again_is_split_for_its_halved_children_too(world: World) -> None:
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


def test_one_that_had_succeeded_and_fails_when_run_again_leaves_its_children_alone(world: World) -> None:
    farm = Farm(world, "a:2 -> b:2")
    farm.submit("b", [1, 2])
    farm.work()
    farm.poison = {2}
    world.submit("a", "1-2@1", rerun="job")
    farm.work()
    assert farm.come_to("a") == {1: State.SUCCEEDED, 2: State.FAILED}
    assert world.state("b/1-2@1") is State.SUCCEEDED
