"""One queue on one channel, and the data by which RabbitMQ identifies a delivery.

``Feed`` is the only place that sends consume, get, ack and nack. Nothing here waits. On a quorum queue a consume, a
cancel or a get is a write to disk. One after the other, they would hold up every other queue and every acknowledgement
of the process. RabbitMQ identifies a delivery by its ``Receipt``.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from pika.channel import Channel
from pika.exceptions import ChannelClosedByBroker
from pika.spec import Basic

from sluice.broker.consumer.inbox import Reception
from sluice.broker.delivery import Delivery, DeliverySource, Settlement
from sluice.broker.log import LOG
from sluice.broker.rabbitmq import topology
from sluice.broker.rabbitmq.errors import reason
from sluice.broker.rabbitmq.topology import PLAIN, QueueNames
from sluice.broker.rabbitmq.watchdog import Vigil


class Feed:
    """One queue with its lanes. Lanes are consumers with a prefetch of one.

    A lane with an unsettled delivery brings nothing. So the number of idle lanes is the number of messages that
    RabbitMQ may push. Lanes can be added while others are busy, and a larger prefetch could not be.

    When the channel is closed or the queue deleted from outside, the feed is broken: open requests are answered with
    None, and the intake opens it again. ``on_change`` is called whenever a component that waits for this feed should
    check it again.
    """

    #: Receives the messages that RabbitMQ pushes. Set before the first lane is added.
    on_arrival: Callable[[Delivery], None]

    def __init__(
        self,
        queue: str,
        reception: Reception,
        origin: DeliverySource,
        *,
        queue_type: str,
        on_change: Callable[[], None],
        names: QueueNames = PLAIN,
    ) -> None:
        self.queue = queue
        self._names = names
        self._name = names.of(queue)
        #: Exception by which RabbitMQ refused to open it, or None.
        self.refusal: ChannelClosedByBroker | None = None
        #: Reason why it broke otherwise.
        self.damage = ""
        self._queue_type = queue_type
        self._reception = reception
        self._origin = origin
        self._on_change = on_change
        self._opening: Channel | None = None
        self._channel: Channel | None = None
        self._question: Callable[[Delivery | None], None] | None = None
        self._counts: deque[Callable[[int, int], None]] = deque()
        self._begin()

    @property
    def is_ready(self) -> bool:
        return self._channel is not None and bool(self._channel.is_open) and not self._is_forgotten

    @property
    def is_broken(self) -> bool:
        return self._opening is None and not self.is_ready

    @property
    def idle_lanes(self) -> int:
        return len(self._idle_lanes)

    @property
    def lanes(self) -> int:
        return len(self._idle_lanes) + len(self._busy_lanes)

    def open(self, connection: Any) -> None:
        """Open a new channel. Messages that are unsettled on an old channel return to the queue when that is closed."""
        if self._channel is not None and self._channel.is_open:
            self._channel.close()
        self._answer_all()
        self._begin()
        self._channel = self.refusal = None
        self.damage = "it was deleted"
        self._opening = connection.channel(on_open_callback=self._on_open)
        self._opening.add_on_close_callback(self._on_closed)

    def leave(self) -> None:
        """Drop the channel, because the connection is gone."""
        self._opening = self._channel = None
        self._answer_all()

    def add_lane(self) -> None:
        self._idle_lanes.add(self._usable.basic_consume(self._name, self._on_message))

    def trim_lanes(self, keep: int) -> None:
        """Close idle lanes until ``keep`` are left. Messages on their way to a closed lane go back by themselves."""
        while len(self._idle_lanes) > keep:
            self._usable.basic_cancel(self._idle_lanes.pop(), callback=_take_note)

    def close_lanes(self) -> None:
        """Close all lanes, so that nothing more is pushed, not even when a running message is settled."""
        self._idle_lanes |= self._busy_lanes
        self._busy_lanes.clear()
        self.trim_lanes(0)

    def get(self, answer: Callable[[Delivery | None], None]) -> None:
        """Request the next readable message. There is one such request at a time."""
        self._question = answer
        self._usable.basic_get(self._name, self._on_got)

    def count(self, answer: Callable[[int, int], None]) -> None:
        """Request the number of waiting messages and of consumers, which costs RabbitMQ little."""
        self._counts.append(answer)
        self._usable.queue_declare(self._name, passive=True, callback=self._on_counted)

    def look(self) -> None:
        """Check whether idle lanes are still fed."""
        self._vigil.begin()
        if self.is_ready and self._idle_lanes:
            self.count(self._judge)

    def is_stale(self, delivery: Delivery) -> bool:
        """Return whether the delivery's channel is gone. RabbitMQ has then put the message back already."""
        return not self.is_ready or receipt_of(delivery).channel is not self._channel

    def settle(self, delivery: Delivery, verdict: Settlement) -> None:
        if self.is_stale(delivery):
            LOG.debug("%s: %s came too late, because its channel is closed.", delivery, verdict.value)
            return
        channel, tag, lane = receipt_of(delivery)
        if verdict is Settlement.ACKNOWLEDGED:
            channel.basic_ack(tag)
        else:
            channel.basic_nack(tag, requeue=verdict is Settlement.GIVEN_BACK)
        if lane in self._busy_lanes:
            self._busy_lanes.remove(lane)
            self._idle_lanes.add(lane)

    @property
    def _usable(self) -> Channel:
        if self._channel is None:
            raise RuntimeError(f"The channel of queue {self.queue} is not open.")
        return self._channel

    def _begin(self) -> None:
        self._busy_lanes: set[str] = set()
        self._idle_lanes: set[str] = set()
        self._vigil = Vigil()
        self._is_forgotten = False

    def _on_open(self, channel: Channel) -> None:
        channel.add_on_cancel_callback(self._on_cancel)
        channel.add_callback(self._on_empty, [Basic.GetEmpty], one_shot=False)
        topology.declare(channel, self.queue, self._queue_type, self._names)
        channel.basic_qos(prefetch_count=1, callback=lambda _: self._on_prepared(channel))

    def _on_prepared(self, channel: Channel) -> None:
        if channel is self._opening:
            self._channel, self._opening = channel, None
            self._on_change()

    def _on_closed(self, channel: Channel, why: Exception) -> None:
        """Note a closed channel. A former channel is ignored, because ``open`` has given it up."""
        if channel is self._opening:
            self._opening = None
            self.refusal = why if isinstance(why, ChannelClosedByBroker) else None
        elif channel is self._channel:
            self._channel = None
            self.damage = f"its channel was closed: {reason(why)}"
        else:
            return
        self._answer_all()
        self._on_change()

    def _on_cancel(self, _: Any) -> None:
        self._is_forgotten = True
        self._on_change()

    def _on_message(self, channel: Channel, method: Any, _: Any, body: bytes) -> None:
        self._vigil.note_arrival()
        delivery = self._read(channel, method, method.consumer_tag, body)
        if delivery is not None:
            self._idle_lanes.discard(method.consumer_tag)
            self._busy_lanes.add(method.consumer_tag)
            self.on_arrival(delivery)
            self._on_change()

    def _on_got(self, channel: Channel, method: Any, _: Any, body: bytes) -> None:
        delivery = self._read(channel, method, None, body)
        if delivery is None:
            channel.basic_get(self._name, self._on_got)
        else:
            self._answer(delivery)

    def _on_empty(self, _: Any) -> None:
        self._answer(None)

    def _answer(self, delivery: Delivery | None) -> None:
        question, self._question = self._question, None
        if question is not None:
            question(delivery)
            self._on_change()

    def _on_counted(self, frame: Any) -> None:
        if self._counts:
            self._counts.popleft()(frame.method.message_count, frame.method.consumer_count)
            self._on_change()

    def _judge(self, waiting: int, consumers: int) -> None:
        if self._idle_lanes and self._vigil.is_forgotten(waiting=waiting, consumers=consumers):
            self._is_forgotten = True
            self.damage = "RabbitMQ delivers no more messages from it"

    def _answer_all(self) -> None:
        """Answer all requests as an empty queue would, because a channel that is gone brings no answers."""
        self._answer(None)
        while self._counts:
            self._counts.popleft()(0, 1)

    def _read(self, channel: Channel, method: Any, lane: str | None, body: bytes) -> Delivery | None:
        only = topology.SUBMITS if method.exchange == self._names.submit_exchange else None
        read = self._reception.read(self.queue, body, only=only)
        if read is None:
            channel.basic_nack(method.delivery_tag, requeue=False)
            return None
        receipt = Receipt(channel, method.delivery_tag, lane)
        return Delivery(*read, self._origin, receipt, redelivered=method.redelivered)


def _take_note(_: Any) -> None:
    """Do nothing. pika forgets a cancelled lane only if a callback waits for RabbitMQ's answer."""


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
