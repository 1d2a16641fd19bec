"""A job whose hint was lost is announced again, and that is a repair. For one that waits for its turn it is none."""

from collections.abc import Callable

import pytest

from sluice.ledger import app_pauses
from sluice.ops.metrics import families
from sluice.ops.metrics.numbers import numbers
from tests.world import World

#: Longer than the groomer's patience with an announcement, shorter than a lease.
LATER_S = 11.0


def repairs(world: World) -> float:
    found = world.ledger.transact(lambda tx: numbers(tx, []))[families.REPAIRS]
    counted = found["announce_ready",]
    assert isinstance(counted, int)
    return counted


def repeated(world: World) -> int:
    """How many executions are offered once the groomer has waited for long enough."""
    world.lose_messages()
    world.tick(after_s=LATER_S)
    return len(world.offered)


@pytest.fixture
def shop(world: World) -> World:
    """One worker with one thread, and a job that is ready."""
    world.apps("a, b")
    world.submit("a")
    return world


def test_a_hint_that_was_lost_is_counted(shop: World) -> None:
    assert (repeated(shop), repairs(shop)) == (1, 1)


def test_each_is_counted_of_those_that_were_lost_together(shop: World) -> None:
    shop.submit("b", None, keys=["1", "2"])
    assert repeated(shop) > 1
    assert repairs(shop) == 3


def is_busy(world: World) -> None:
    world.submit("b")
    assert world.claim("b")


def serves_another(world: World) -> None:
    _has(world, "queues = '{b}'")


def runs_no_jobs(world: World) -> None:
    _has(world, "threads = 0")


def is_gone(world: World) -> None:
    _has(world, "left_at = lease_until")


def may_not_begin_any(world: World) -> None:
    world.ledger.transact(lambda tx: app_pauses.pause(tx, ["a"], by="me"))


@pytest.mark.parametrize("the_worker", [is_busy, serves_another, runs_no_jobs, is_gone, may_not_begin_any])
def test_what_waits_for_its_turn_is_announced_again_and_not_counted(
    shop: World, the_worker: Callable[[World], None]
) -> None:
    the_worker(shop)
    assert (repeated(shop), repairs(shop)) == (1, 0)


def test_who_is_between_two_runs_has_no_room_yet(shop: World) -> None:
    shop.submit("b")
    claimed = shop.claim("b")
    assert claimed
    shop.lose_messages()
    shop.tick(after_s=LATER_S - 2)
    assert (shop.offered, shop.record(claimed)) == ([], True)
    shop.tick(after_s=1.5)
    assert (len(shop.offered), repairs(shop)) == (1, 0)


def _has(world: World, words: str) -> None:
    world.ledger.transact(lambda tx: tx.write(f"UPDATE worker SET {words}"))
