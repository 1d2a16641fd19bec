"""Between an intake and dramatiq's worker: letters are read here and put into their queue's mailbox."""

from collections.abc import Collection, Iterable
from queue import Empty, SimpleQueue
from threading import Event, Lock
from typing import Any, NamedTuple

from dramatiq import Consumer, Encoder, MessageProxy
from dramatiq import Message as Envelope

from sluice.broker import codec
from sluice.broker.delivery import Delivery
from sluice.broker.log import LOG, one_line
from sluice.broker.messages import Message
from sluice.broker.parking import Parking
from sluice.broker.slots import Slots
from sluice.jobs.errors import BadMessage

#: While the worker winds down, its consumers look this often whether they may leave; before, they are woken.
LEAVE_S = 0.05
IDLE_S = 5.0


class Read(NamedTuple):
    envelope: Envelope[Any]
    message: Message


class Reception:
    """The queues of one process, the actors and slots it has for them, and where failed news waits.

    Mailboxes stay short: what is in one has its slot already.
    """

    def __init__(
        self, queues: Collection[str], actors: Collection[str], slots: Slots, encoder: Encoder = codec.PLAIN
    ) -> None:
        self.queues = tuple(queues)
        self.slots = slots
        self.parking = Parking()
        self._actors = frozenset(actors)
        self._encoder = encoder
        self._mailboxes: dict[str, SimpleQueue[Delivery | None]] = {queue: SimpleQueue() for queue in queues}
        self.closed = Event()
        #: Held by who adds queues, and by who closes: not both at once.
        self.door = Lock()

    def open(self, queue: str) -> None:
        """A mailbox for one more queue."""
        self._mailboxes[queue] = SimpleQueue()
        self.queues = (*self.queues, queue)

    def read(
        self, queue: str, body: bytes, size: int | None = None, *, only: Collection[str] | None = None
    ) -> Read | None:
        """The message, or None, with one line in the log, where it must go to the dead letters.

        ``size`` is for a body that was left where it is because it is too large. ``only`` are the actors that may be
        called by the way on which it came, where those are not all.
        """
        size = len(body) if size is None else size
        try:
            if size > codec.MESSAGE_BYTES_MAX:
                raise BadMessage(codec.oversize(size))
            read = Read(*codec.unseal(queue, body, self._encoder))
            if only is not None and read.message.actor not in only:
                raise BadMessage(f"it came from where {read.message.actor!r} may not be asked for")
            if read.message.actor not in self._actors:
                raise BadMessage(f"no handler for {read.message.actor!r} is registered here")
        except BadMessage as error:
            message_id = codec.id_of(body) if size <= codec.MESSAGE_BYTES_MAX else None
            which = f"message {message_id!r}" if message_id else "a message without a readable id"
            LOG.error("Queue %s: %s goes to the dead letters: %s", queue, which, one_line(error))
            return None
        return read

    def hand_over(self, delivery: Delivery) -> None:
        self._mailboxes[delivery.queue_name].put(delivery)

    def close(self) -> None:
        """Nothing starts from now on: consumers wake up and give back what they find."""
        self.closed.set()
        for mailbox in self._mailboxes.values():
            mailbox.put(None)

    def consumer(self, queue: str) -> "MailboxConsumer":
        return MailboxConsumer(self._mailboxes[queue], self.closed)


class MailboxConsumer(Consumer):
    """What dramatiq's consumer thread iterates over. It never fails: connections are the intake's business.

    dramatiq settles through the consumer it happens to have when a message ends. Here every settlement
    goes through the delivery, which knows where it came from and whether it was settled already.
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
        """Nothing: the service has settled it, or it is parked and must stay unsettled."""

    def nack(self, message: MessageProxy) -> None:
        _own(message).reject()

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        for message in messages:
            _own(message).give_back()


def _own(message: MessageProxy) -> Delivery:
    if not isinstance(message, Delivery):
        raise TypeError(f"{message!r} did not come from this room's intake")
    return message
