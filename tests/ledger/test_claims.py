"""Claims: the worker that may run a job, and the results that are accepted."""

from sluice.actors.executor import transactions
from sluice.jobs.model.job import Ending
from sluice.jobs.states import State
from tests.world import LEASE_S, World


def test_a_job_is_claimed_once(world: World) -> None:
    world.apps("a")
    world.submit("a")
    assert world.claim("a") is not None
    assert world.claim("a", worker=world.hire()) is None


def test_a_notification_for_an_earlier_round_claims_the_current_round(world: World) -> None:
    world.apps("a", max_fails=1)
    world.submit("a")
    hint = world.offered[0]
    world.finish("a", Ending.ERROR)

    taken, _ = transactions.claim(world.ledger, world.catalogue, hint, world.worker)
    assert [(job.key, job.round) for job in taken] == [("1", 1)]
    assert transactions.claim(world.ledger, world.catalogue, hint, world.worker)[0] == []
    assert world.claim("a") is None


def test_a_late_worker_is_refused_and_its_result_dropped(world: World) -> None:
    world.apps("a")
    world.submit("a")
    late = world.claim("a")
    assert late is not None
    world.tick(after_s=LEASE_S + 1)
    assert world.state("a") is State.READY
    second = world.claim("a", worker=world.hire())
    assert second is not None
    assert second.claim == late.claim + 1
    assert not world.record(late)
    assert world.state("a") is State.RUNNING
    assert world.record(second)
    assert world.state("a") is State.SUCCEEDED


def test_an_outcome_that_is_recorded_twice_counts_once(world: World) -> None:
    world.apps("a")
    world.submit("a")
    claimed = world.claim("a")
    assert claimed is not None
    assert world.record(claimed)
    assert not world.record(claimed)
    assert world.history("a").count("executed") == 1


def test_a_worker_without_a_lease_may_not_claim(world: World) -> None:
    world.apps("a")
    world.submit("a")
    world.tick(after_s=LEASE_S + 1)
    assert world.claim("a") is None
    world.beat(world.worker)
    assert world.claim("a") is not None


def test_a_heartbeat_renews_the_lease_and_returns_the_claims_that_still_stand(world: World) -> None:
    world.apps("a, b")
    world.submit("a")
    submission = world.submit("b")
    kept, gone = world.claim("a"), world.claim("b")
    assert kept is not None
    assert gone is not None
    world.cancel(submission)
    world.tick(after_s=10)
    assert world.beat(world.worker, [kept.right, gone.right]) == {kept.right}
    world.tick(after_s=10)
    assert world.state("a") is State.RUNNING


def test_a_job_that_is_handed_back_keeps_its_round(world: World) -> None:
    world.apps("a")
    world.submit("a")
    claimed = world.claim("a")
    assert claimed is not None
    assert world.record(claimed, Ending.HANDED_BACK)
    assert world.state("a") is State.READY
    assert world.round("a") == 0
    again = world.claim("a")
    assert again is not None
    assert again.claim == 2


def test_a_job_may_be_lost_max_losses_times(world: World) -> None:
    world.apps("a", max_losses=2)
    world.submit("a")
    for losses in (1, 2):
        assert world.claim("a", worker=world.hire())
        world.tick(after_s=LEASE_S + 1)
        assert (world.state("a"), world.round("a")) == (State.READY, losses)
    assert world.claim("a", worker=world.hire())
    world.tick(after_s=LEASE_S + 1)
    assert world.state("a") is State.FAILED


def test_a_job_that_lost_its_worker_is_announced_in_its_own_notification(world: World) -> None:
    world.apps("a")
    for key in "123":
        world.submit("a", key)
        claimed = world.claim(f"a/{key}")
        assert claimed is not None
        assert world.record(claimed, took_s=0.001)
    for key in "456":
        world.submit("a", key)
    world.lose_messages()
    assert world.claim("a/4", worker=world.hire())
    world.tick(after_s=LEASE_S + 1)
    parcels = [[turn.job for turn in message.jobs] for message in world.offered]
    assert [world.known("a/4").id] in parcels


def test_a_timed_out_run_is_retried_while_timeouts_are_left(world: World) -> None:
    world.apps("a", timeout=5, max_timeouts=1)
    world.submit("a")
    first = world.claim("a")
    assert first is not None
    assert world.record(first, Ending.TIMED_OUT, error="5 s are over")
    world.tick(after_s=1)
    assert (world.state("a"), world.round("a"), world.field("a", "timeouts")) == (State.READY, 1, 1)
    second = world.claim("a")
    assert second is not None
    assert world.record(second, Ending.TIMED_OUT)
    assert world.state("a") is State.TIMED_OUT


def test_the_groomer_times_out_a_run_that_its_worker_does_not_end(world: World) -> None:
    world.apps("a -> b", timeout=5)
    world.submit("b")
    claimed = world.claim("a")
    assert claimed is not None
    world.tick(after_s=8)
    assert world.state("a") is State.TIMED_OUT
    assert world.state("b") is State.UPSTREAM_FAILED
    assert not world.record(claimed)


def test_a_saga_step_that_waits_suspends_its_job(world: World) -> None:
    world.apps("a")
    submission = world.submit("a")
    claimed = world.claim("a")
    assert claimed is not None
    assert world.record(claimed, Ending.SUSPENDED, event="approval")
    assert world.state("a") is State.SUSPENDED
    world.cancel(submission)
    assert world.state("a") is State.CANCELLED
