"""Thread that takes messages off RabbitMQ: one connection, and pika's loop, for all queues of the process."""

from collections.abc import Iterable
from math import inf
from time import monotonic
from typing import Any

import pika
from pika.adapters.select_connection import IOLoop, SelectConnection
from pika.channel import Channel
from pika.exceptions import ChannelClosed, ChannelClosedByBroker, ConnectionClosedByClient

from sluice.broker.consumer.inbox import Reception
from sluice.broker.consumer.intake import IDLE_S, Intake
from sluice.broker.log import LOG, one_line
from sluice.broker.owner import InstallationOwner
from sluice.broker.rabbitmq import topology
from sluice.broker.rabbitmq.channel import Feed
from sluice.broker.rabbitmq.errors import LOSSES, reason
from sluice.broker.rabbitmq.prefetch import Counter
from sluice.broker.rabbitmq.topology import PLAIN, QueueNames
from sluice.jobs.errors import BadSetting, ForeignBroker, SluiceError

#: Seconds until a queue is tried again that RabbitMQ refused to open.
MEND_S = 30.0
#: Seconds between two checks whether RabbitMQ still feeds the lanes.
LOOK_S = 2.0
#: Seconds that RabbitMQ has, after a defect of Sluice, to answer the close of the connection.
GOODBYE_S = 1.0


class RabbitmqIntake(Intake):
    """Intake for RabbitMQ. Everything except ``wake`` and the inherited methods runs on the loop; nothing there waits
    for an answer."""

    losses = (*LOSSES, ForeignBroker, BadSetting)

    def __init__(
        self,
        name: str,
        parameters: pika.connection.Parameters,
        reception: Reception,
        *,
        queue_type: str,
        owner: InstallationOwner | None = None,
        names: QueueNames = PLAIN,
    ) -> None:
        super().__init__(name, reception)
        self._owner = owner
        self._names = names
        self._is_own = False
        self._refused: SluiceError | None = None
        self._parameters = parameters
        self._queue_type = queue_type
        self._loop: IOLoop | None = None
        self._connection: Any = None
        self._loss: BaseException | None = None
        self._awake = False
        self._timer: object | None = None
        self._look_at = 0.0
        self._mend_at: dict[str, float] = {}
        self._feeds: dict[str, Feed] = {}
        self._counters = {
            desk.pool: Counter(desk, reception.hand_over, reception.parking, monotonic)
            for desk in self._desks
        }

    def explain(self, error: Exception) -> str:
        return one_line(error) if isinstance(error, SluiceError) else reason(error)

    def wake(self) -> None:
        """Schedule one turn, however many reasons for it come before the thread takes it."""
        loop = self._loop
        if loop is not None and not self._awake:
            self._awake = True
            loop.add_callback_threadsafe(self._turn)

    def _soon(self) -> None:
        """Schedule one turn from the loop itself, which need not be woken."""
        if self._loop is not None and not self._awake:
            self._awake = True
            self._loop.call_later(0, self._turn)

    def _work(self) -> None:
        loop = self._loop = IOLoop()
        self._awake, self._loss, self._refused, self._is_own = False, None, None, False
        self._connection = SelectConnection(
            self._parameters,
            on_open_callback=self._on_open,
            on_open_error_callback=self._on_lost,
            on_close_callback=self._on_lost,
            custom_ioloop=loop,
        )
        try:
            loop.start()
        except BaseException:
            self._part(loop)
            raise
        finally:
            self._abandon()
            self._loop = None
            loop.close()
        if self._refused is not None:
            raise self._refused
        if isinstance(self._loss, Exception) and not isinstance(self._loss, ConnectionClosedByClient):
            raise self._loss

    def _disconnect(self) -> None:
        """Do nothing: ``_turn`` has closed the connection, and that ended the work."""

    def _on_open(self, _: Any) -> None:
        if self._owner is None:
            self._begin()
        else:
            self._compare(self._owner, *self._owner.marks)

    def _compare(self, owner: InstallationOwner, mark: str, *shorter: str) -> None:
        """Begin once it is certain that the virtual host is this installation's. Nothing is taken before."""

        def declare(channel: Channel) -> None:
            channel.add_on_close_callback(judge)
            topology.declare_owner(
                channel, mark, self._queue_type, self._names, callback=lambda _: channel.close()
            )

        def judge(_: Channel, why: Exception) -> None:
            try:
                is_own = not isinstance(why, ChannelClosedByBroker) or topology.is_own(
                    why, owner, where=self._name
                )
                if not is_own and not shorter:
                    raise owner.refused_by(InstallationOwner("", ""), where=self._name)
            except SluiceError as error:
                self._refused = error
                self._connection.close()
                return
            if not is_own:
                self._compare(owner, *shorter)
            elif isinstance(why, ChannelClosed):
                self._begin()

        self._connection.channel(on_open_callback=declare)

    def _begin(self) -> None:
        self._is_own = True
        self._open(self._feeds.values())
        self._mend_at.clear()
        self._is_back()
        self._turn()

    def _on_lost(self, _: Any, error: BaseException) -> None:
        self._loss = error
        if self._loop is not None:
            self._loop.stop()

    def _turn(self) -> None:
        # Cleared before the notes are read, so that a note left from now on causes another turn.
        self._awake = False
        if self._leaving.is_set():
            self._leave()
        elif self._connection.is_open and self._is_own:
            self._settle_all()
            self._look()
            wait_s = self._take() if self._taking else self._take_nothing()
            self._come_again(min(wait_s, self._look_at - monotonic()))

    def _take(self) -> float:
        self._open([self._feed(queue) for queue in self._admit()])
        return min([self._mend(), *(counter.turn() for counter in self._counters.values())])

    def _feed(self, queue: str) -> Feed:
        """Create the feed of a queue that has joined. It is not open yet."""
        feed = Feed(
            queue,
            self._reception,
            self,
            queue_type=self._queue_type,
            on_change=self._soon,
            names=self._names,
        )
        self._feeds[queue] = feed
        self._counters[self._reception.slots.of(queue)].add(feed)
        return feed

    def _open(self, feeds: Iterable[Feed]) -> None:
        """Open these feeds. If the connection is lost during this, all feeds are opened again when it is back."""
        for feed in feeds:
            feed.open(self._connection)

    def _take_nothing(self) -> float:
        for counter in self._counters.values():
            counter.withdraw()
        self._settle_all()
        return IDLE_S

    def _come_again(self, wait_s: float) -> None:
        if self._loop is not None:
            if self._timer is not None:
                self._loop.remove_timeout(self._timer)
            self._timer = self._loop.call_later(max(wait_s, 0), self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._turn()

    def _leave(self) -> None:
        """Send the remaining settlements and close. Unsettled messages belong to RabbitMQ again."""
        if self._connection.is_open:
            self._settle_all()
            self._connection.close()
        elif self._loop is not None and not self._connection.is_closing:
            self._loop.stop()

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
        """Open broken feeds again, after a pause. Return the seconds until there is more to do, or infinity."""
        now, wait_s = monotonic(), inf
        for feed in self._feeds.values():
            if not feed.is_broken:
                continue
            due = self._mend_at.get(feed.queue)
            if due is None:
                due = self._mend_at[feed.queue] = now + self._pause_of(feed)
            elif now >= due:
                del self._mend_at[feed.queue]
                feed.open(self._connection)
            wait_s = min(wait_s, due - now)
        return wait_s

    def _pause_of(self, feed: Feed) -> float:
        """Return how long a broken feed is left alone, and log on one line why it broke."""
        if feed.refusal is None:
            LOG.warning("Queue %s is opened again: %s.", feed.queue, feed.damage)
            return topology.ABSENCE_S
        error = topology.refusal(self._name, feed.refusal)
        LOG.error("Queue %s is not consumed: %s %s", feed.queue, one_line(error), error.advice)
        return MEND_S

    def _abandon(self) -> None:
        """Drop the state of the connection. RabbitMQ delivers unsettled messages again; late settlements are dropped as
        stale."""
        self._timer = None
        for feed in self._feeds.values():
            feed.leave()
        for counter in self._counters.values():
            counter.forget()

    def _part(self, loop: IOLoop) -> None:
        """Close the connection in order after a defect of Sluice, so that no socket is left."""
        if self._connection.is_open:
            self._connection.close()
            loop.call_later(GOODBYE_S, loop.stop)
            loop.start()
