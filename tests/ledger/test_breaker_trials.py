"""Trials of a breaker: after the pause it lets one job through, and its outcome determines the next step."""

from datetime import timedelta

import pytest

from sluice.broker.messages import Execute
from sluice.jobs.model.job import Ending
from sluice.jobs.states import State
from sluice.ledger.reads.backlog import demand
from sluice.ledger.recovery import leases, restoration
from tests.ledger.breaker_worlds import broken, fail, fails, pause, trial, wait
from tests.world import LEASE_S, World


def test_after_the_pause_one_job_alone_is_tried(world: World) -> None:
    broken(world)
    world.tick(after_s=29)
    world.lose_messages()
    wait(world, 1)
    (hint,) = [each for each in world.offered if isinstance(each, Execute)]
    (turn,) = hint.jobs
    assert turn.job == world.known(trial(world)).id
    others = {"a/0", "a/1", "a/2", "a/3", "a/4"} - {trial(world)}
    assert all(world.claim(job) is None for job in others)
    assert world.claim(trial(world)) is not None
    assert all(world.claim(job) is None for job in others)


def test_the_trial_is_a_job_with_the_fewest_failures(world: World) -> None:
    broken(world, 4, priority=5)
    wait(world, 30)
    assert trial(world) == "a/3"


def test_a_failed_trial_doubles_the_next_pause_up_to_the_maximum(world: World) -> None:
    broken(world, 30)
    for pause_s in (30, 60, 100, 100):
        wait(world, pause_s - 1)
        assert world.ready()
        assert all(world.claim(job) is None for job in ("a/20", "a/21"))
        wait(world, 1)
        fail(world, trial(world))
        world.tick()
    found = pause(world)
    assert found is not None
    assert found.trial is None


def test_after_a_restoration_a_trial_is_judged_by_its_next_claim(world: World) -> None:
    """After a restoration, the numbers of claims continue far above the last one."""
    broken(world, 30)
    world.now += timedelta(seconds=2 * LEASE_S)
    assert world.ledger.transact(restoration.restore) is not None
    world.worker = world.hire()
    wait(world, 0)
    for pause_s in (60, 100, 100):
        fail(world, trial(world))
        world.tick()
        wait(world, pause_s - 1)
        found = pause(world)
        assert found is not None
        assert found.trial is None
        wait(world, 1)
    world.finish(trial(world))
    wait(world, 1)
    assert pause(world) is None


def test_a_trial_can_be_claimed_only_once(world: World) -> None:
    """It may be ready again before the breaker evaluates its outcome."""
    broken(world, 4)
    wait(world, 30)
    job = trial(world)
    fail(world, job)
    assert world.state(job) is State.READY
    assert world.claim(job) is None


def test_a_successful_trial_closes_the_breaker_and_announces_all_ready_jobs(world: World) -> None:
    broken(world, 30)
    wait(world, 30)
    world.lose_messages()
    world.finish(trial(world))
    world.tick(after_s=1)
    assert pause(world) is None
    told = {turn.job for hint in world.offered for turn in hint.jobs}
    assert told == {world.known(job).id for job in world.ready()}
    assert fails(world) == 0


@pytest.mark.parametrize("fate", ["cancelled", "handed back", "lost"])
def test_a_trial_that_neither_succeeds_nor_fails_is_followed_by_another(world: World, fate: str) -> None:
    broken(world, 3)
    submission = world.submit("a", "late", policy={"priority": 9})
    wait(world, 30)
    assert trial(world) == "a/late"
    claimed = world.claim("a/late")
    assert claimed
    match fate:
        case "cancelled":
            world.cancel(submission)
        case "handed back":
            world.record(claimed, Ending.HANDED_BACK)
        case _:
            worker = world.worker
            world.ledger.transact(lambda tx: leases.leave(tx, worker))
            world.worker = world.hire()
    wait(world, 20)
    wait(world, 1)
    world.finish(trial(world))
    world.tick()
    assert pause(world) is None


def test_a_trial_with_a_lost_notification_is_announced_again(world: World) -> None:
    broken(world)
    wait(world, 30)
    job = world.known(trial(world)).id
    world.lose_messages()
    wait(world, 11)
    assert job in {turn.job for hint in world.offered for turn in hint.jobs}


def test_a_more_urgent_job_does_not_replace_the_trial(world: World) -> None:
    broken(world)
    wait(world, 30)
    job = trial(world)
    world.submit("a", "urgent", policy={"priority": 9})
    assert world.claim("a/urgent") is None
    claimed = world.claim(job)
    assert claimed is not None
    assert claimed.key == world.known(job).name.key


def test_the_demand_counts_only_the_trial_when_it_is_due(world: World) -> None:
    broken(world, 5)
    (found,) = world.ledger.transact(lambda tx: demand(tx, ["a"], horizon_s=5))
    assert (found.demand, found.blocked) == (0, 5)
    wait(world, 26)
    (found,) = world.ledger.transact(lambda tx: demand(tx, ["a"], horizon_s=5))
    assert (found.demand, found.blocked) == (1, 4)
