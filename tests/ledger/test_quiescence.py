"""Whether nothing is left to happen in a ledger (``sluice up --drain``)."""

from sluice.ledger.reads.quiescence import idle
from tests.world import World


def is_idle(world: World) -> bool:
    return world.ledger.transact(lambda tx: idle(tx, ()))


def test_a_submission_whose_end_is_left_to_the_groomer_is_not_idle(world: World) -> None:
    """Two transactions that end its last two jobs at the same time each see the other job unfinished."""
    world.apps("a, b")
    world.submit("a", id="s")
    assert not is_idle(world)
    world.finish("a")
    assert is_idle(world)
    reopen = "UPDATE submission SET state = 'active', ended_at = NULL, blocking_job = (SELECT id FROM job)"
    world.ledger.transact(lambda tx: tx.write(reopen))
    assert not is_idle(world)
    world.tick()
    assert world.submission("s") == "succeeded"
    assert is_idle(world)
