"""By what RabbitMQ knows a delivery again."""

from typing import NamedTuple

from pika.channel import Channel

from sluice.broker.delivery import Delivery


class Receipt(NamedTuple):
    """A delivery tag counts from 1 on every channel: it means something on its own channel only.

    ``lane`` is the consumer that brought the message; None for one that was fetched.
    """

    channel: Channel
    tag: int
    lane: str | None


def receipt_of(delivery: Delivery) -> Receipt:
    receipt = delivery.receipt
    if not isinstance(receipt, Receipt):
        raise TypeError(f"{delivery} did not come from RabbitMQ")
    return receipt
