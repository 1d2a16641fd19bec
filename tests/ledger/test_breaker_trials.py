"""What a breaker has tried after a while: one job alone, and what follows from that."""

from datetime import timedelta

import pytest

from sluice.broker.messages import Execute
from sluice.jobs.outcome import Ending
from sluice.jobs.states import State
from sluice.ledger import restoring, workers
from sluice.ledger.reads.demand import demand
from tests.ledger.breaking import broken, fail, fails, pause, trial, wait
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


def test_the_trial_is_one_that_has_failed_least(world: World) -> None:
    broken(world, 4, priority=5)
    wait(world, 30)
    assert trial(world) == "a/3"


def test_a_trial_that_fails_has_the_next_pause_twice_as_long(world: World) -> None:
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


def test_after_a_restoration_it_is_the_next_claim_all_the_same_that_the_trial_is_judged_by(
    world: World,
) -> None:
    """Claims go on far above the last one then."""
    broken(world, 30)
    world.now += timedelta(seconds=2 * LEASE_S)
    assert world.ledger.transact(restoring.restore) is not None
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


def test_a_trial_is_tried_once(world: World) -> None:
    """It may be ready again before anybody has looked what came of it."""
    broken(world, 4)
    wait(world, 30)
    job = trial(world)
    fail(world, job)
    assert world.state(job) is State.READY
    assert world.claim(job) is None


def test_a_trial_that_succeeds_closes_it_and_all_are_announced(world: World) -> None:
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
def test_a_trial_that_comes_to_neither_is_followed_by_another(world: World, fate: str) -> None:
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
            world.ledger.transact(lambda tx: workers.leave(tx, worker))
            world.worker = world.hire()
    wait(world, 20)
    wait(world, 1)
    world.finish(trial(world))
    world.tick()
    assert pause(world) is None


def test_a_trial_whose_hint_was_lost_is_announced_again(world: World) -> None:
    broken(world)
    wait(world, 30)
    job = world.known(trial(world)).id
    world.lose_messages()
    wait(world, 11)
    assert job in {turn.job for hint in world.offered for turn in hint.jobs}


def test_a_more_urgent_job_does_not_take_the_place_of_the_trial(world: World) -> None:
    broken(world)
    wait(world, 30)
    job = trial(world)
    world.submit("a", "urgent", policy={"priority": 9})
    assert world.claim("a/urgent") is None
    claimed = world.claim(job)
    assert claimed is not None
    assert claimed.key == world.known(job).name.key


def test_a_worker_is_wanted_for_the_trial_alone(world: World) -> None:
    broken(world, 5)
    (found,) = world.ledger.transact(lambda tx: demand(tx, ["a"], horizon_s=5))
    assert (found.demand, found.blocked) == (0, 5)
    wait(world, 26)
    (found,) = world.ledger.transact(lambda tx: demand(tx, ["a"], horizon_s=5))
    assert (found.demand, found.blocked) == (1, 4)
