"""Data by which RabbitMQ identifies a delivery."""

from typing import NamedTuple

from pika.channel import Channel

from sluice.broker.delivery import Delivery


class Receipt(NamedTuple):
    """Delivery tag with its channel. Tags count from 1 on every channel, so a tag is valid only on its own channel.

    ``lane`` is the consumer that brought the message; None for a message that was fetched.
    """

    channel: Channel
    tag: int
    lane: str | None


def receipt_of(delivery: Delivery) -> Receipt:
    receipt = delivery.receipt
    if not isinstance(receipt, Receipt):
        raise TypeError(f"{delivery} did not come from RabbitMQ")
    return receipt
