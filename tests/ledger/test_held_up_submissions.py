"""The job that a submission waits for while none of its jobs runs."""

from datetime import timedelta

from sluice.jobs.model.names import JobName
from sluice.ledger.reads.submission_progress import LOST_AFTER_S, held_up
from tests.world import LEASE_S, World


def test_a_submission_is_held_up_while_none_of_its_jobs_runs(world: World) -> None:
    world.apps("a -> b")
    world.submit("b", id="s")
    assert _held_up(world) == JobName("b", "1")
    run = world.take("a")
    assert _held_up(world) is None
    assert world.record(run)
    assert _held_up(world) == JobName("b", "1")


def test_the_groomer_has_some_seconds_to_take_back_the_job_of_a_lost_worker(world: World) -> None:
    world.apps("a")
    world.submit("a", id="s")
    world.take("a")
    assert _held_up(world, after_s=LEASE_S + LOST_AFTER_S - 1) is None
    assert _held_up(world, after_s=1) == JobName("a", "1")


def _held_up(world: World, *, after_s: float = 0.0) -> JobName | None:
    world.now += timedelta(seconds=after_s)
    return world.ledger.transact(lambda tx: held_up(tx, "s"))
