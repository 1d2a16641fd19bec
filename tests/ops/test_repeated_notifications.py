"""Repeated notifications of ready jobs. Repeating a lost notification counts as a repair. Repeating it for a job that
only waits for a free worker does not.
"""

from collections.abc import Callable

import pytest

from sluice.ledger.limits import app_pauses
from sluice.ops.observe.metrics import families
from sluice.ops.observe.metrics.ledger_metrics import numbers
from tests.world import World

#: Seconds: longer than the groomer waits before it repeats an announcement, shorter than a lease.
LATER_S = 11.0


def repairs(world: World) -> float:
    found = world.ledger.transact(lambda tx: numbers(tx, []))[families.REPAIRS]
    counted = found["announce_ready",]
    assert isinstance(counted, int)
    return counted


def repeated(world: World) -> int:
    """Return the number of executions that are offered after the groomer has waited for long enough."""
    world.lose_messages()
    world.tick(after_s=LATER_S)
    return len(world.offered)


@pytest.fixture
def shop(world: World) -> World:
    """Return a world with one worker that has one thread, and with a ready job."""
    world.apps("a, b")
    world.submit("a")
    return world


def test_a_lost_notification_is_repeated_and_counted(shop: World) -> None:
    assert (repeated(shop), repairs(shop)) == (1, 1)


def test_each_of_several_lost_notifications_is_counted(shop: World) -> None:
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
def test_a_job_that_waits_for_a_worker_is_announced_but_not_counted(
    shop: World, the_worker: Callable[[World], None]
) -> None:
    the_worker(shop)
    assert (repeated(shop), repairs(shop)) == (1, 0)


def test_a_worker_between_two_runs_does_not_count_as_free_yet(shop: World) -> None:
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
