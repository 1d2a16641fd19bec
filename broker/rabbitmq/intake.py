"""The thread that takes messages off RabbitMQ: one connection for all queues of the process."""

from collections.abc import Callable
from contextlib import suppress
from time import monotonic

import pika
from pika.adapters.blocking_connection import BlockingConnection
from pika.exceptions import AMQPError

from broker.intake import IDLE_S, Intake
from broker.log import LOG, one_line
from broker.rabbitmq.counter import Counter
from broker.rabbitmq.feed import Feed
from broker.reception import Reception
from jobs.errors import SluiceError

#: A queue that could not be made again is tried again after so long; the others go on meanwhile.
MEND_S = 1.0


class RabbitmqIntake(Intake):
    """``declare`` makes a queue on a given connection, and raises where it exists otherwise."""

    # pika raises AssertionError where a connection dies in the middle of a call.
    losses = (AMQPError, OSError, AssertionError)

    def __init__(
        self,
        name: str,
        parameters: pika.connection.Parameters,
        declare: Callable[[BlockingConnection, str], None],
        reception: Reception,
    ) -> None:
        super().__init__(name, reception)
        self._parameters = parameters
        self._declare = declare
        self._connection: BlockingConnection | None = None
        self._awake = False
        self._mend_at = 0.0
        self._shunned: set[str] = set()
        self._feeds = {queue: Feed(queue, reception, self) for queue in reception.queues}
        self._counters = [
            Counter(
                desk,
                [self._feeds[queue] for queue in desk.queues],
                reception.hand_over,
                reception.parking,
                monotonic,
            )
            for desk in self._desks
        ]

    def wake(self) -> None:
        """One callback, however many reasons to wake come before the thread looks at them."""
        if self._awake:
            return
        self._awake = True
        connection = self._connection
        if connection is not None:
            with suppress(AMQPError):
                connection.add_callback_threadsafe(_nothing)

    def _work(self) -> None:
        connection = self._connection = BlockingConnection(self._parameters)
        try:
            for feed in self._feeds.values():
                self._open(feed)
            self._is_back()
            while not self._leaving.is_set():
                # Cleared before the notes are read: a note left from now on wakes the next wait.
                self._awake = False
                self._settle_all()
                connection.process_data_events(time_limit=max(self._turn(), 0))
        except BaseException:
            self._abandon(connection)
            raise

    def _turn(self) -> float:
        self._mend()
        if self._taking:
            return min(counter.turn() for counter in self._counters)
        for counter in self._counters:
            counter.withdraw()
        self._settle_all()
        return IDLE_S

    def _settle_all(self) -> None:
        while self._outbox:
            delivery, verdict = self._outbox.popleft()
            self._feeds[delivery.queue_name].settle(delivery, verdict)

    def _mend(self) -> None:
        """Opens what was closed under our hands: a deleted queue, a channel that RabbitMQ closed."""
        if monotonic() < self._mend_at:
            return
        for feed in self._feeds.values():
            if feed.is_broken:
                if feed.queue not in self._shunned:
                    LOG.warning("Queue %s was deleted or its channel closed; opening it again.", feed.queue)
                self._open(feed)

    def _open(self, feed: Feed) -> None:
        """Opens one queue; where it cannot be, that is said once, and the others go on."""
        if self._connection is None:
            raise RuntimeError("A queue can be opened only on a connection.")
        try:
            feed.open(self._connection, self._declare)
            self._shunned.discard(feed.queue)
        except SluiceError as error:
            self._mend_at = monotonic() + MEND_S
            if feed.queue not in self._shunned:
                LOG.error("Queue %s is not consumed: %s %s", feed.queue, one_line(error), error.advice)
            self._shunned.add(feed.queue)

    def _abandon(self, connection: BlockingConnection) -> None:
        """RabbitMQ gives out again what was unsettled on it; late settlements are dropped as stale."""
        for counter in self._counters:
            counter.forget()
        if connection.is_open:
            with suppress(*self.losses):
                connection.close()

    def _disconnect(self) -> None:
        if self._connection is not None and self._connection.is_open:
            self._settle_all()
            self._connection.close()


def _nothing() -> None:
    """Being called is what ends the wait."""
