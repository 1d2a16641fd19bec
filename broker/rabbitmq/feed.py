"""One queue on one channel: the only place that sends consume, get, ack and nack."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from pika.adapters.blocking_connection import BlockingChannel, BlockingConnection
from pika.exceptions import AMQPChannelError

from broker.delivery import Delivery, Origin, Verdict
from broker.log import LOG
from broker.reception import Reception

#: So many unreadable messages in a row are thrown out before somebody else's queue gets its turn.
UNREADABLE_MAX = 100


class Receipt(NamedTuple):
    """A delivery tag counts from 1 on every channel: it means something on its own channel only."""

    channel: BlockingChannel
    tag: int
    lane: str | None


class Feed:
    """Lanes are consumers with a prefetch of one. A lane with an unsettled delivery brings nothing; so the
    number of idle lanes is the number of messages RabbitMQ may push, and lanes can be added while others
    are busy, which a larger prefetch could not be.

    When RabbitMQ closes the channel in the middle of a call, the call comes to nothing: ``is_broken``
    says so, and the intake opens the feed again. A lost connection is raised.
    """

    #: Gets what RabbitMQ pushes. Set before the first lane is added.
    on_arrival: Callable[[Delivery], None]

    def __init__(self, queue: str, reception: Reception, origin: Origin) -> None:
        self.queue = queue
        self._reception = reception
        self._origin = origin
        self._channel: BlockingChannel | None = None
        self._busy_lanes: set[str] = set()
        self._idle_lanes: set[str] = set()
        self._cancelled = False
        self._has_arrived = False
        self._was_overlooked = False

    @property
    def is_broken(self) -> bool:
        """The channel was closed, or the queue deleted, under our hands."""
        return self._cancelled or self._channel is None or not self._channel.is_open

    @property
    def idle_lanes(self) -> int:
        return len(self._idle_lanes)

    @property
    def lanes(self) -> int:
        return len(self._idle_lanes) + len(self._busy_lanes)

    def open(
        self, connection: BlockingConnection, declare: Callable[[BlockingConnection, str], None]
    ) -> None:
        """A new channel. What is unsettled on an old one returns to the queue when that is closed."""
        if self._channel is not None and self._channel.is_open and self._channel.connection is connection:
            self._channel.close()
        self._channel, self._cancelled = None, False
        self._busy_lanes.clear()
        self._idle_lanes.clear()
        declare(connection, self.queue)
        channel = connection.channel()
        channel.basic_qos(prefetch_count=1)
        channel.add_on_cancel_callback(self._on_cancel)
        self._channel = channel

    def add_lane(self) -> None:
        with suppress(AMQPChannelError):
            self._idle_lanes.add(self._opened.basic_consume(self.queue, self._on_message))

    def trim_lanes(self, keep: int) -> None:
        """Closes idle lanes down to ``keep``. What is on its way to them goes back by itself."""
        with suppress(AMQPChannelError):
            while len(self._idle_lanes) > keep:
                self._opened.basic_cancel(self._idle_lanes.pop())

    def close_lanes(self) -> None:
        """Nothing more is pushed, not even when a running message is settled."""
        self._idle_lanes |= self._busy_lanes
        self._busy_lanes.clear()
        self.trim_lanes(0)

    def get(self) -> Delivery | None:
        """The next readable message, or None where there is none to be had."""
        with suppress(AMQPChannelError):
            for _ in range(UNREADABLE_MAX):
                method, _, body = self._opened.basic_get(self.queue)
                if method is None:
                    return None
                delivery = self._read(method, None, body)
                if delivery is not None:
                    return delivery
        return None

    def look(self) -> None:
        """Finds out whether idle lanes are still fed; to be called every few seconds.

        RabbitMQ 3.10 does not tell the consumers of a quorum queue that was deleted and made again at
        once, and does not feed them either. They show by there being no consumer, or by a message
        that waits while a lane is idle, for two looks.
        """
        has_arrived, self._has_arrived = self._has_arrived, False
        if self.is_broken or not self._idle_lanes:
            self._was_overlooked = False
            return
        with suppress(AMQPChannelError):
            found = self._opened.queue_declare(self.queue, passive=True).method
            is_overlooked = found.message_count > 0 and not has_arrived
            self._cancelled |= found.consumer_count == 0 or (is_overlooked and self._was_overlooked)
            self._was_overlooked = is_overlooked

    def is_stale(self, delivery: Delivery) -> bool:
        """Its channel is gone, and RabbitMQ has put the message back already."""
        receipt = receipt_of(delivery)
        return receipt.channel is not self._channel or self.is_broken

    def settle(self, delivery: Delivery, verdict: Verdict) -> None:
        if self.is_stale(delivery):
            LOG.info("%s: %s came too late, its channel is gone.", delivery, verdict.value)
            return
        receipt = receipt_of(delivery)
        with suppress(AMQPChannelError):
            if verdict is Verdict.ACKNOWLEDGED:
                receipt.channel.basic_ack(receipt.tag)
            else:
                receipt.channel.basic_nack(receipt.tag, requeue=verdict is Verdict.GIVEN_BACK)
        if receipt.lane in self._busy_lanes:
            self._busy_lanes.remove(receipt.lane)
            self._idle_lanes.add(receipt.lane)

    @property
    def _opened(self) -> BlockingChannel:
        if self._channel is None:
            raise RuntimeError(f"The channel of queue {self.queue} is not open.")
        return self._channel

    def _on_message(self, _: BlockingChannel, method: Any, __: Any, body: bytes) -> None:
        self._has_arrived = True
        delivery = self._read(method, method.consumer_tag, body)
        if delivery is not None:
            self._idle_lanes.discard(method.consumer_tag)
            self._busy_lanes.add(method.consumer_tag)
            self.on_arrival(delivery)

    def _on_cancel(self, _: Any) -> None:
        self._cancelled = True

    def _read(self, method: Any, lane: str | None, body: bytes) -> Delivery | None:
        read = self._reception.read(self.queue, body)
        if read is None:
            self._opened.basic_nack(method.delivery_tag, requeue=False)
            return None
        receipt = Receipt(self._opened, method.delivery_tag, lane)
        return Delivery(*read, self._origin, receipt, redelivered=method.redelivered)


def receipt_of(delivery: Delivery) -> Receipt:
    receipt = delivery.receipt
    if not isinstance(receipt, Receipt):
        raise TypeError(f"{delivery} did not come from RabbitMQ")
    return receipt
