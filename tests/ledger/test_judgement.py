"""Judgement of outcomes, and propagation of success and failure to the children."""

from datetime import timedelta

import pytest

from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger.lifecycle import plain_successes
from sluice.ledger.lifecycle.judgements import ON_SUCCESS
from sluice.ledger.recovery import groomer_steps
from tests.world import LEASE_S, World


def test_a_failing_job_is_retried_max_fails_times(world: World) -> None:
    world.apps("a", max_fails=2)
    submission = world.submit("a")
    for fails in (1, 2):
        world.finish("a", Ending.ERROR)
        assert (world.state("a"), world.round("a")) == (State.READY, fails)
    world.finish("a", Ending.ERROR)
    assert world.state("a") is State.FAILED
    assert world.submission(submission) is SubmissionState.FAILED


def test_a_retry_waits_for_the_delay_of_its_rule(world: World) -> None:
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


def test_a_failure_makes_all_descendants_upstream_failed_at_once(world: World) -> None:
    world.apps("a -> b -> c -> d")
    world.submit("d")
    world.finish("a", Ending.ERROR)
    states = world.states()
    assert states.pop("a") is State.FAILED
    assert set(states.values()) == {State.UPSTREAM_FAILED}


def test_a_child_that_is_planned_after_its_parent_failed_is_upstream_failed(world: World) -> None:
    world.apps("a -> b")
    world.submit("a", push="wanted")
    world.finish("a", Ending.ERROR)
    submission = world.submit("b")
    assert world.history("b") == ["waiting", "upstream_failed"]
    assert world.submission(submission) is SubmissionState.FAILED


def test_rerunning_a_failed_parent_revives_its_upstream_failed_descendants(world: World) -> None:
    world.apps("a -> b -> c")
    world.submit("c")
    world.finish("a", Ending.ERROR)
    world.submit("a", rerun="job")
    assert world.states() == {"a": State.READY, "b": State.WAITING, "c": State.WAITING}
    for job in "abc":
        world.finish(job)
    assert set(world.states().values()) == {State.SUCCEEDED}


def test_rerunning_an_upstream_failed_job_also_runs_its_failed_ancestors(world: World) -> None:
    world.apps("a -> b -> c")
    world.submit("c")
    world.finish("a", Ending.ERROR)
    submission = world.submit("c", rerun="job")
    assert world.ready() == {"a"}
    for job in "abc":
        world.finish(job)
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_rerun_job_leaves_succeeded_children_unchanged(world: World) -> None:
    world.apps("a -> b")
    world.submit("b")
    world.finish("a")
    world.finish("b")
    world.submit("a", rerun="job")
    assert world.states() == {"a": State.READY, "b": State.SUCCEEDED}


def test_rerun_downstream_runs_all_descendants_in_order(world: World) -> None:
    world.apps("a -> b -> c")
    world.submit("c")
    for job in "abc":
        world.finish(job)
    world.submit("a", rerun="downstream")
    assert world.states() == {"a": State.READY, "b": State.WAITING, "c": State.WAITING}
    for job in "abc":
        world.finish(job)
    assert world.history("c").count("succeeded") == 2


def test_a_revived_job_has_no_failures_and_begins_with_round_zero(world: World) -> None:
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


def test_jobs_that_wait_past_their_deadline_expire(world: World) -> None:
    world.apps("a -> b")
    submission = world.submit("b", policy={"end_before": "2026-01-01T00:01:00Z"})
    world.tick(after_s=61)
    assert set(world.states().values()) <= {State.EXPIRED, State.UPSTREAM_FAILED}
    world.tick(after_s=1)
    assert world.submission(submission) is SubmissionState.FAILED


def test_a_saga_with_a_failed_undo_is_fatal_despite_remaining_tries(world: World) -> None:
    world.apps("a", max_fails=5)
    world.submit("a")
    world.finish("a", Ending.UNDO_FAILED)
    assert world.state("a") is State.FATAL


def test_a_failure_not_propagated_yet_is_noticed_when_another_parent_is_rerun(world: World) -> None:
    """If a child is counted again because of one parent, the end of another parent must not be lost."""
    world.apps("a -> c, b -> c", max_losses=0)
    world.submit("c")
    world.finish("b")
    assert world.claim("a", worker=world.hire())
    world.now += timedelta(seconds=LEASE_S + 1)
    world.ledger.transact(lambda tx: groomer_steps.take_lost(tx, 10))
    world.submit("b", rerun="job")
    assert world.states() == {"a": State.FAILED, "b": State.READY, "c": State.UPSTREAM_FAILED}


#: By kind of job, the change that makes a running job one. The planner must judge a success of each kind.
JUDGED = {
    "is_chunk": "work_ids = '[[1, 1]]'",
    "is_step": "output_table = 't'",
    "is_compensation": "undoes = 7, undoes_claim = 1",
    "adds_jobs": "expansion = 'entered'",
    "has a deadline": "end_before = '2999-01-01', effective_deadline = '2999-01-01'",
    "is an open saga": "saga_open = true",
    "is a long-running service": "unbounded = true",
}


@pytest.mark.parametrize("kind", JUDGED)
def test_a_success_with_effects_does_not_end_the_job_before_it_is_judged(world: World, kind: str) -> None:
    world.apps("a")
    world.submit("a")
    claimed = world.claim("a")
    assert claimed is not None
    world.ledger.transact(lambda tx: tx.write(f"UPDATE job SET {JUDGED[kind]}"))
    done = {claimed.right: Outcome(ending=Ending.DONE)}
    assert world.ledger.transact(lambda tx: plain_successes.finish(tx, done)).apps == {}
    assert world.state("a") is State.RUNNING


def test_each_effect_of_a_success_is_judged() -> None:
    assert {effect.kind for effect in ON_SUCCESS} <= JUDGED.keys()
