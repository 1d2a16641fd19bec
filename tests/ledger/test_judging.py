"""Judgement, and how success and failure reach the children."""

from datetime import timedelta

from sluice.jobs.outcome import Ending
from sluice.jobs.states import State
from sluice.jobs.submission import SubmissionState
from sluice.ledger import grooming
from tests.world import LEASE_S, World


def test_a_failing_job_is_tried_as_often_as_its_policy_says(world: World) -> None:
    world.apps("a", max_fails=2)
    submission = world.submit("a")
    for fails in (1, 2):
        world.finish("a", Ending.ERROR)
        assert (world.state("a"), world.round("a")) == (State.READY, fails)
    world.finish("a", Ending.ERROR)
    assert world.state("a") is State.FAILED
    assert world.submission(submission) is SubmissionState.FAILED


def test_a_retry_waits_as_long_as_its_rule_says(world: World) -> None:
    world.apps("a", max_fails=3, retry={"rule": "exponential", "seconds": 10})
    world.submit("a")
    world.finish("a", Ending.ERROR)
    world.tick(after_s=9)
    assert world.state("a") is State.WAITING
    world.tick(after_s=1)
    assert world.state("a") is State.READY
    world.finish("a", Ending.ERROR)
    world.tick(after_s=19)
    assert world.state("a") is State.WAITING
    world.tick(after_s=1)
    assert world.state("a") is State.READY


def test_failure_strands_descendants_at_any_depth_at_once(world: World) -> None:
    world.apps("a -> b -> c -> d")
    world.submit("d")
    world.finish("a", Ending.ERROR)
    states = world.states()
    assert states.pop("a") is State.FAILED
    assert set(states.values()) == {State.UPSTREAM_FAILED}


def test_a_child_of_a_failed_parent_is_stranded_when_it_is_planned(world: World) -> None:
    world.apps("a -> b")
    world.submit("a", push="wanted")
    world.finish("a", Ending.ERROR)
    submission = world.submit("b")
    assert world.history("b") == ["waiting", "upstream_failed"]
    assert world.submission(submission) is SubmissionState.FAILED


def test_running_a_failed_parent_again_revives_what_it_had_stranded(world: World) -> None:
    world.apps("a -> b -> c")
    world.submit("c")
    world.finish("a", Ending.ERROR)
    world.submit("a", rerun="job")
    assert world.states() == {"a": State.READY, "b": State.WAITING, "c": State.WAITING}
    for job in "abc":
        world.finish(job)
    assert set(world.states().values()) == {State.SUCCEEDED}


def test_running_a_stranded_job_again_runs_its_dead_ancestors_too(world: World) -> None:
    world.apps("a -> b -> c")
    world.submit("c")
    world.finish("a", Ending.ERROR)
    submission = world.submit("c", rerun="job")
    assert world.ready() == {"a"}
    for job in "abc":
        world.finish(job)
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_rerun_job_leaves_what_has_succeeded_downstream_alone(world: World) -> None:
    world.apps("a -> b")
    world.submit("b")
    world.finish("a")
    world.finish("b")
    world.submit("a", rerun="job")
    assert world.states() == {"a": State.READY, "b": State.SUCCEEDED}


def test_rerun_downstream_runs_everything_after_it_in_order(world: World) -> None:
    world.apps("a -> b -> c")
    world.submit("c")
    for job in "abc":
        world.finish(job)
    world.submit("a", rerun="downstream")
    assert world.states() == {"a": State.READY, "b": State.WAITING, "c": State.WAITING}
    for job in "abc":
        world.finish(job)
    assert world.history("c").count("succeeded") == 2


def test_a_revived_job_begins_a_new_life(world: World) -> None:
    world.apps("a", max_fails=1)
    world.submit("a")
    world.finish("a", Ending.ERROR)
    world.finish("a", Ending.ERROR)
    assert world.field("a", "fails") == 2
    world.submit("a", rerun="job")
    assert (world.field("a", "fails"), world.round("a"), world.field("a", "claim")) == (0, 0, 2)


def test_a_job_that_ends_after_its_deadline_is_expired_by_its_recorded_time(world: World) -> None:
    world.apps("a -> b")
    world.submit("b", policy={"end_before": "2026-01-01T00:01:00Z"})
    claimed = world.claim("a")
    assert claimed is not None
    world.now = world.now.replace(minute=1, second=1)
    world.beat(world.worker)
    assert world.record(claimed)
    assert world.state("a") is State.EXPIRED
    assert world.state("b") is State.UPSTREAM_FAILED


def test_whatever_waits_past_its_deadline_is_expired(world: World) -> None:
    world.apps("a -> b")
    submission = world.submit("b", policy={"end_before": "2026-01-01T00:01:00Z"})
    world.tick(after_s=61)
    assert set(world.states().values()) <= {State.EXPIRED, State.UPSTREAM_FAILED}
    world.tick(after_s=1)
    assert world.submission(submission) is SubmissionState.FAILED


def test_a_saga_that_could_not_undo_is_fatal_whatever_tries_are_left(world: World) -> None:
    world.apps("a", max_fails=5)
    world.submit("a")
    world.finish("a", Ending.DISMAL)
    assert world.state("a") is State.FATAL


def test_a_death_that_was_not_told_is_noticed_when_another_parent_runs_again(world: World) -> None:
    """Counting a child anew for one parent's sake must not swallow the news of another's end."""
    world.apps("a -> c, b -> c", max_losses=0)
    world.submit("c")
    world.finish("b")
    assert world.claim("a", worker=world.hire())
    world.now += timedelta(seconds=LEASE_S + 1)
    world.ledger.transact(lambda tx: grooming.take_lost(tx, 10))
    world.submit("b", rerun="job")
    assert world.states() == {"a": State.FAILED, "b": State.READY, "c": State.UPSTREAM_FAILED}
