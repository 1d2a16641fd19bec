"""When the intake from RabbitMQ comes again if nothing happens before."""

from math import inf

import pytest

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
