"""Parking of failed news until its next try."""

from collections.abc import Iterator

import pytest
from msgspec import Raw

from sluice.broker.codec import encode
from sluice.broker.consumer.redelivery import PARKED_MAX, Parking
from sluice.broker.delivery import Delivery, Settlement
from sluice.broker.messages import PLANNER, Submit
from sluice.jobs.policy.retry_delay import RetryRule
from tests.broker.conftest import until


class Door:
    """Source of deliveries, which records the deliveries that are given back."""

    def __init__(self) -> None:
        self.given_back: list[str] = []

    def settle(self, delivery: Delivery, verdict: Settlement) -> None:
        assert verdict is Settlement.GIVEN_BACK
        self.given_back.append(delivery.message_id)

    def deliver(self, message_id: str) -> Delivery:
        message = Submit(submission=Raw(b"{}"), id=message_id)
        return Delivery(encode(message), message, self, None, redelivered=False)


@pytest.fixture
def parking() -> Iterator[Parking]:
    made = Parking(pause=RetryRule(rule="exponential", delay_s=0.01, delay_s_max=0.05))
    yield made
    made.close()


def test_a_parked_message_is_given_back_after_its_pause(parking: Parking) -> None:
    door = Door()
    parking.park(door.deliver("one"))
    until(lambda: door.given_back == ["one"])
    assert parking.parked(PLANNER) == 0


def test_the_pause_grows_up_to_a_limit_and_is_reset_by_a_success(
    parking: Parking,
) -> None:
    door = Door()
    pauses = [parking.park(door.deliver("one")) for _ in range(5)]
    assert pauses == [0.01, 0.02, 0.04, 0.05, 0.05]
    assert parking.park(door.deliver("two")) == 0.01
    parking.forget(door.deliver("one"))
    assert parking.park(door.deliver("one")) == 0.01


def test_a_queue_with_many_parked_messages_is_full_until_they_are_given_back() -> None:
    door, parking = Door(), Parking(pause=RetryRule(rule="fixed", delay_s=3600))
    for number in range(PARKED_MAX):
        assert not parking.is_full(PLANNER)
        parking.park(door.deliver(str(number)))
    assert parking.is_full(PLANNER)
    parking.close()
    assert not parking.is_full(PLANNER)
    assert len(door.given_back) == PARKED_MAX


def test_a_closed_parking_gives_a_message_back_at_once(parking: Parking) -> None:
    door = Door()
    parking.close()
    assert parking.park(door.deliver("one")) == 0
    assert door.given_back == ["one"]
