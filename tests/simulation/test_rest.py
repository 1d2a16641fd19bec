"""Tests of when a simulated world is at rest."""

from sluice.actors.executor import transactions
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.simulation.run import at_rest
from tests.world import World


def _is_at_rest(world: World) -> bool:
    return world.ledger.transact(at_rest)


def test_a_world_is_not_at_rest_until_the_end_of_a_pushed_job_has_planned_its_children(world: World) -> None:
    """The pushed job runs after its submission has ended, because another submission runs its last parent. The message
    that plans its children is lost."""
    world.apps("a -> c, b -> c, c -> d")
    first = world.submit("a")
    world.finish("a")
    assert world.state("c") is State.WAITING
    assert world.submission(first) is SubmissionState.SUCCEEDED
    assert _is_at_rest(world)
    second = world.submit("b", push="wanted")
    world.finish("b")
    assert world.submission(second) is SubmissionState.SUCCEEDED
    claimed = world.take("c")
    transactions.settle(world.ledger, world.catalogue, {claimed.right: Outcome(ending=Ending.DONE)})
    assert world.state("c") is State.SUCCEEDED
    assert "d" not in world.states()
    assert not _is_at_rest(world)
    world.tick(after_s=3)
    world.finish("d")
    assert _is_at_rest(world)
