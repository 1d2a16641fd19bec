"""The thread that takes messages off RabbitMQ: one connection for all queues of the process."""

from collections.abc import Callable
from contextlib import suppress
from time import monotonic

import pika
from pika.adapters.blocking_connection import BlockingConnection
from pika.exceptions import AMQPError

from broker.intake import IDLE_S, Intake
from broker.log import LOG, one_line
from broker.rabbitmq import queues
from broker.rabbitmq.counter import Counter
from broker.rabbitmq.feed import Feed
from broker.rabbitmq.losses import LOSSES, reason
from broker.reception import Reception
from jobs.errors import SluiceError

#: A queue that could not be made again is tried again after so long.
MEND_S = 30.0
#: So often we ask RabbitMQ whether it still feeds us.
LOOK_S = 2.0


class RabbitmqIntake(Intake):
    """``declare`` makes a queue on a given connection, and raises where it exists otherwise."""

    losses = LOSSES

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
        self._look_at = 0.0
        self._mend_at: dict[str, float] = {}
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

    def explain(self, error: Exception) -> str:
        return reason(error)

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
                self._open(feed, connection)
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
        self._look()
        if self._taking:
            return min([self._mend(), *(counter.turn() for counter in self._counters)])
        for counter in self._counters:
            counter.withdraw()
        self._settle_all()
        return IDLE_S

    def _settle_all(self) -> None:
        while self._outbox:
            delivery, verdict = self._outbox.popleft()
            self._feeds[delivery.queue_name].settle(delivery, verdict)

    def _look(self) -> None:
        if monotonic() >= self._look_at:
            self._look_at = monotonic() + LOOK_S
            for feed in self._feeds.values():
                feed.look()

    def _mend(self) -> float:
        """Opens what was closed under our hands, after a moment; says how long until there is more to do."""
        now, wait_s = monotonic(), IDLE_S
        for feed in self._feeds.values():
            if not feed.is_broken:
                continue
            if feed.queue not in self._mend_at:
                LOG.warning("Queue %s was deleted or its channel closed; it is opened again.", feed.queue)
                self._mend_at[feed.queue] = now + queues.ABSENCE_S
            if now >= self._mend_at[feed.queue] and self._connection is not None:
                self._open(feed, self._connection)
            wait_s = min(wait_s, self._mend_at.get(feed.queue, now + IDLE_S) - now)
        return wait_s

    def _open(self, feed: Feed, connection: BlockingConnection) -> None:
        """Opens one queue. Where that is refused it is said and tried again; the other queues go on."""
        try:
            feed.open(connection, self._declare)
            self._mend_at.pop(feed.queue, None)
        except SluiceError as error:
            LOG.error("Queue %s is not consumed: %s %s", feed.queue, one_line(error), error.advice)
            self._mend_at[feed.queue] = monotonic() + MEND_S

    def _abandon(self, connection: BlockingConnection) -> None:
        """RabbitMQ gives out again what was unsettled on it; late settlements are dropped as stale."""
        for counter in self._counters:
            counter.forget()
        if connection.is_open:
            with suppress(*LOSSES):
                connection.close()

    def _disconnect(self) -> None:
        if self._connection is not None and self._connection.is_open:
            self._settle_all()
            self._connection.close()


def _nothing() -> None:
    """Being called is what ends the wait."""
