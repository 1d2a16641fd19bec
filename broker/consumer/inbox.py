"""Messages between the thread that takes them and the worker threads that handle them.

``Reception`` is between an intake and dramatiq's worker: it reads messages and puts them into one mailbox for all
queues. dramatiq would have a thread for each queue. The intake has already chosen the order of the queues, and the
mailbox keeps it.

Dramatiq's worker threads wait at a ``WorkQueue``. By default they wait with a timeout, and check again and again
whether they have to end. That would be half of the work of an idle process. Here they wait until there is a message, or
until the queue is closed.
"""

from collections.abc import Collection, Iterable
from queue import Empty, PriorityQueue, SimpleQueue
from threading import Event, Lock
from typing import Any, NamedTuple

from dramatiq import Consumer, MessageProxy
from dramatiq import Message as Envelope

from sluice.broker import codec
from sluice.broker.consumer.fair_share import NO_TENANTS, FairShare
from sluice.broker.consumer.redelivery import Parking
from sluice.broker.consumer.slots import Slots
from sluice.broker.delivery import Delivery
from sluice.broker.log import LOG, one_line
from sluice.broker.messages import Message
from sluice.jobs.errors import BadMessage

#: Seconds between two checks of a consumer whether it may end: while the worker stops, and before. Messages wake it in
#: between.
LEAVE_S = 0.05
IDLE_S = 5.0


#: The queue for which dramatiq starts its only consumer thread. No broker has it.
ALL_QUEUES = "all"


class Read(NamedTuple):
    envelope: Envelope[Any]
    message: Message


class Reception:
    """Queues of one process, its actors and slots for them, and the parking of failed news.

    The mailbox stays short, because a message in it already has its slot.
    """

    def __init__(
        self,
        queues: Collection[str],
        actors: Collection[str],
        slots: Slots,
        encoder: codec.JsonEncoder = codec.PLAIN,
        *,
        shares: FairShare = NO_TENANTS,
    ) -> None:
        self.queues = tuple(queues)
        self.slots = slots
        self.shares = shares
        self.parking = Parking()
        self._actors = frozenset(actors)
        self._encoder = encoder
        self._mailbox: SimpleQueue[Delivery | None] = SimpleQueue()
        self.closed = Event()
        #: Held while queues are added and while the reception closes, so that both do not happen at the same time.
        self.door = Lock()

    def open(self, queue: str) -> None:
        """Add one more queue."""
        self.queues = (*self.queues, queue)

    def read(
        self, queue: str, body: bytes, size: int | None = None, *, only: Collection[str] | None = None
    ) -> Read | None:
        """Return the message in a body. None, with one line in the log, if it has to go to the dead letters.

        ``size`` is for a body that was not fetched because it is too large. ``only`` are the actors that the message's
        route may call. Default: all.
        """
        size = len(body) if size is None else size
        try:
            if size > codec.MESSAGE_BYTES_MAX:
                raise BadMessage(codec.oversize(size))
            read = Read(*codec.unseal(queue, body, self._encoder))
            if only is not None and read.message.actor not in only:
                raise BadMessage(f"it came from a source that may not send {read.message.actor!r}")
            if read.message.actor not in self._actors:
                raise BadMessage(f"no handler for {read.message.actor!r} is registered here")
        except BadMessage as error:
            message_id = codec.id_of(body) if size <= codec.MESSAGE_BYTES_MAX else None
            which = f"message {message_id!r}" if message_id else "a message without a readable id"
            LOG.error("Queue %s: %s goes to the dead letters: %s", queue, which, one_line(error))
            return None
        return read

    def hand_over(self, delivery: Delivery) -> None:
        self.shares.started(delivery.queue_name)
        self._mailbox.put(delivery)

    def close(self) -> None:
        """Let nothing start from now on: the consumer wakes up and gives back the messages that it finds."""
        self.closed.set()
        self._mailbox.put(None)

    def consumer(self) -> "MailboxConsumer":
        return MailboxConsumer(self._mailbox, self.closed)


class SharedConsumer(dict[str, Any]):
    """Consumer threads of dramatiq's worker by queue: the one of ``ALL_QUEUES`` for every queue."""

    def __missing__(self, queue: str) -> Any:
        return self[ALL_QUEUES]


class MailboxConsumer(Consumer):
    """Iterator of dramatiq's consumer thread. It never fails, because the intake handles connections.

    dramatiq settles through the consumer that it happens to have when a message ends. Here every settlement goes
    through the delivery, which has its origin and its verdict.
    """

    def __init__(self, mailbox: "SimpleQueue[Delivery | None]", closed: Event) -> None:
        self._mailbox = mailbox
        self._closed = closed

    def __next__(self) -> Delivery | None:
        try:
            delivery = self._mailbox.get(timeout=LEAVE_S if self._closed.is_set() else IDLE_S)
        except Empty:
            return None
        if delivery is not None and self._closed.is_set():
            delivery.give_back()
            return None
        return delivery

    def ack(self, message: MessageProxy) -> None:
        """Do nothing: the service has settled the message, or it is parked and must stay unsettled."""

    def nack(self, message: MessageProxy) -> None:
        _own(message).reject()

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        for message in messages:
            _own(message).give_back()


def _own(message: MessageProxy) -> Delivery:
    if not isinstance(message, Delivery):
        raise TypeError(f"{message!r} did not come from this room's intake")
    return message


#: Seconds between two checks once the queue is closed.
LOOK_S = 0.05


class WorkQueue(PriorityQueue[Any]):
    """Work queue of dramatiq's worker. ``close`` is called just before the threads are stopped."""

    def __init__(self) -> None:
        super().__init__()
        self._closed = False

    def get(self, block: bool = True, timeout: float | None = None) -> Any:  # noqa: ARG002, FBT001, FBT002 - as the base has them
        with self.not_empty:
            if block:
                self.not_empty.wait_for(self._stirs)
            if block and not self._qsize():
                self.not_empty.wait(LOOK_S)
            if not self._qsize():
                raise Empty
            item = self._get()
            self.not_full.notify()
            return item

    def close(self) -> None:
        with self.mutex:
            self._closed = True
            self.not_empty.notify_all()

    def _stirs(self) -> bool:
        return bool(self._closed or self._qsize())
