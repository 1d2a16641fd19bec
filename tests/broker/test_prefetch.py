"""When the intake from RabbitMQ comes again if nothing happens before."""

from math import inf
from typing import Any

import pytest

from sluice.broker.consumer.fair_share import FairShare
from sluice.broker.consumer.intake import IDLE_S, Rota, SharedSlots
from sluice.broker.consumer.redelivery import Parking
from sluice.broker.consumer.slots import SlotPool
from sluice.broker.rabbitmq.prefetch import GRACE_S, Counter


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def counter(pool: SlotPool, clock: Clock) -> Counter:
    return Counter(SharedSlots(pool, Rota(())), lambda _: None, Parking(), clock)


def test_an_idle_pool_waits_for_an_event() -> None:
    assert counter(SlotPool(2), Clock()).turn() == inf


def test_a_pool_without_a_slot_to_spare_is_given_up_after_the_grace_time() -> None:
    pool, clock = SlotPool(2), Clock()
    asked = counter(pool, clock)
    pool.take(2)
    assert asked.turn() == pytest.approx(GRACE_S)
    clock.now_s += GRACE_S + 0.001
    assert asked.turn() == IDLE_S, "its lanes are closed now"
    pool.put_back(2)
    assert asked.turn() == inf, "its queues are empty"


class HeldFeed:
    """A feed that is never ready, and has the messages that the test gives it."""

    is_ready = False
    on_arrival: Any = None

    def __init__(self, queue: str, stale: tuple[str, ...] = ()) -> None:
        self.queue = queue
        self._stale = stale

    def is_stale(self, delivery: str) -> bool:
        return delivery in self._stale


def test_a_tenant_whose_first_message_is_stale_loses_neither_its_turn_nor_a_slot() -> None:
    pool, clock, started = SlotPool(3), Clock(), []
    shares = FairShare(lambda: {"a": "risk", "b": "growth"}, clock=clock)
    asked: Any = Counter(SharedSlots(pool, Rota(("a", "b"), shares)), started.append, Parking(), clock)
    feeds = {"a": HeldFeed("a"), "b": HeldFeed("b", stale=("b1",))}
    for feed in feeds.values():
        asked.add(feed)
    shares.started("a")  # so growth is next
    for message in ("a1", "a2", "b1", "b2"):
        feeds[message[0]].on_arrival(message)
    asked.turn()
    assert started == ["b2", "a1", "a2"]
    assert pool.free == 0
