"""Publisher with confirms, and the messages that wait for a confirm.

``Publisher`` sends all messages, and then waits for all confirms. ``Batch`` has the letters on their way to RabbitMQ,
and the result of each.

The connection is on a thread of its own that runs pika's loop. So heartbeats are answered while nothing is published,
and any number of threads may publish at the same time. A round trip for the confirm of each message would be eleven
times slower.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from threading import Event, Lock, Thread
from typing import Any

import pika
from pika.adapters.select_connection import IOLoop, SelectConnection
from pika.channel import Channel
from pika.exceptions import AMQPError, ConnectionBlockedTimeout
from pika.spec import Basic

from sluice.broker.codec import Letter
from sluice.broker.log import LOG
from sluice.broker.rabbitmq.errors import reason
from sluice.broker.rabbitmq.topology import PLAIN, QueueNames


class Batch:
    """Letters that are sent together. ``done`` is set when each letter has been confirmed, returned or lost."""

    def __init__(self, letters: Sequence[Letter]) -> None:
        self.done = Event()
        self.open = dict(enumerate(letters))
        self.returned: list[Letter] = []
        self.lost: list[Letter] = []
        self.why = ""
        self.is_blocked = False

    def confirm(self, number: int) -> None:
        del self.open[number]
        self._look()

    def turn_back(self, number: int) -> None:
        """Note a letter that was returned because its queue does not exist."""
        self.returned.append(self.open.pop(number))
        self._look()

    def lose(self, number: int, why: str) -> None:
        """Note a letter that RabbitMQ refused."""
        self.why = why
        self.lost.append(self.open.pop(number))
        self._look()

    def lose_all(self, why: str, *, is_blocked: bool = False) -> None:
        """Note that the result of all open letters is unknown; they may have arrived."""
        self.why, self.is_blocked = why, is_blocked
        self.lost.extend(self.open.values())
        self.open.clear()
        self.done.set()

    def _look(self) -> None:
        if not self.open:
            self.done.set()


class Publisher:
    """Connection that publishes. Callers use ``send`` and ``close``; every other method runs on the loop's thread."""

    def __init__(self, parameters: pika.connection.Parameters, names: QueueNames = PLAIN) -> None:
        self._parameters = parameters
        self._names = names
        self._starting = Lock()
        self._loop: IOLoop | None = None
        self._is_leaving = False
        self._connections: set[SelectConnection] = set()
        self._connection: Any = None  # a SelectConnection, or None; pika has no types
        self._channel: Channel | None = None
        self._waiting: list[Batch] = []
        self._sent: dict[int, tuple[Batch, int]] = {}
        self._unroutable: set[int] = set()
        self._last_tag = 0

    def send(self, letters: Sequence[Letter], *, timeout_s: float) -> Batch:
        """Send all letters together, in one attempt. The batch has the result of each letter."""
        batch = Batch(letters)
        if letters:
            self._call(partial(self._begin, batch))
            if not batch.done.wait(timeout_s):
                self._call(partial(self._drop, f"no confirm within {timeout_s:g} s"))
                if not batch.done.wait(timeout_s):
                    batch.lose_all("the publisher's thread does not answer")
        return batch

    def close(self) -> None:
        """Close in the background. The thread ends when RabbitMQ has answered, or was silent for too long."""
        with self._starting:
            if self._loop is not None:
                self._loop.add_callback_threadsafe(self._leave)

    def _call(self, what: Callable[[], None]) -> None:
        with self._starting:
            if self._loop is None:
                self._loop = IOLoop()
                Thread(target=self._run, args=[self._loop], name="sluice-publisher", daemon=True).start()
            self._loop.add_callback_threadsafe(what)

    def _run(self, loop: IOLoop) -> None:
        try:
            loop.start()
        except Exception as error:
            # A defect of Sluice, or an exception that pika did not catch. The callers must get an error and not wait.
            LOG.exception("The publisher failed and starts again.")
            self._lose(reason(error))
        with self._starting:
            self._loop, self._is_leaving = None, False
        loop.close()

    def _begin(self, batch: Batch) -> None:
        if self._channel is not None and self._channel.is_open:
            self._write(batch)
            return
        self._waiting.append(batch)
        if self._connection is None:
            self._connection = SelectConnection(
                self._parameters,
                on_open_callback=self._on_open,
                on_open_error_callback=self._on_closed,
                on_close_callback=self._on_closed,
                custom_ioloop=self._loop,
            )
            self._connections.add(self._connection)

    def _on_open(self, connection: Any) -> None:
        if self._connection is connection:
            connection.channel(on_open_callback=self._on_channel)
        else:
            connection.close()

    def _on_channel(self, channel: Channel) -> None:
        channel.add_on_close_callback(self._on_channel_closed)
        channel.add_on_return_callback(self._on_returned)
        channel.confirm_delivery(self._on_confirm, callback=lambda _: self._on_ready(channel))

    def _on_ready(self, channel: Channel) -> None:
        self._channel, self._last_tag = channel, 0
        waiting, self._waiting = self._waiting, []
        for batch in waiting:
            self._write(batch)

    def _write(self, batch: Batch) -> None:
        if self._channel is None:
            raise RuntimeError("Letters are written to an open channel only.")
        try:
            for number, letter in list(batch.open.items()):
                self._last_tag += 1
                self._sent[self._last_tag] = (batch, number)
                properties = pika.BasicProperties(
                    content_type="application/json", delivery_mode=2, correlation_id=str(self._last_tag)
                )
                name = self._names.of(letter.queue)
                self._channel.basic_publish("", name, letter.body, properties, mandatory=True)
        except AMQPError as error:
            # Our count of tags and RabbitMQ's may differ from here on.
            self._drop(reason(error))

    def _on_returned(self, _: Any, __: Any, properties: Any, ___: bytes) -> None:
        """Note a returned letter. Its return comes before its confirm."""
        self._unroutable.add(int(properties.correlation_id))

    def _on_confirm(self, frame: Any) -> None:
        """Settle the confirmed letters. Confirms come singly or for all up to a tag, and not in order."""
        confirm = frame.method
        if not confirm.multiple:
            self._settle(confirm.delivery_tag, is_ack=isinstance(confirm, Basic.Ack))
            return
        for tag in list(takewhile(lambda tag: tag <= confirm.delivery_tag, self._sent)):
            self._settle(tag, is_ack=isinstance(confirm, Basic.Ack))

    def _settle(self, tag: int, *, is_ack: bool) -> None:
        batch, number = self._sent.pop(tag)
        if tag in self._unroutable:
            self._unroutable.remove(tag)
            batch.turn_back(number)
        elif is_ack:
            batch.confirm(number)
        else:
            batch.lose(number, "RabbitMQ refused it")

    def _drop(self, why: str) -> None:
        """Give up the connection, so that the next attempt makes a new one.

        A connection that is still being opened is not closed, because pika fails when it is.
        """
        connection = self._connection
        self._lose(why)
        if connection is not None and connection.is_open:
            connection.close()

    def _on_channel_closed(self, channel: Channel, error: Exception) -> None:
        if channel is self._channel:
            self._drop(reason(error))

    def _on_closed(self, connection: Any, error: BaseException) -> None:
        self._connections.discard(connection)
        if self._connection is connection:
            self._lose(reason(error), is_blocked=isinstance(error, ConnectionBlockedTimeout))
        self._end_if_alone()

    def _lose(self, why: str, *, is_blocked: bool = False) -> None:
        batches = {id(batch): batch for batch, _ in self._sent.values()}
        batches |= {id(batch): batch for batch in self._waiting}
        self._connection = self._channel = None
        self._sent.clear()
        self._unroutable.clear()
        self._waiting.clear()
        for batch in batches.values():
            batch.lose_all(why, is_blocked=is_blocked)

    def _leave(self) -> None:
        self._is_leaving = True
        self._drop("the publisher was closed")
        self._end_if_alone()

    def _end_if_alone(self) -> None:
        if self._is_leaving and not self._connections and self._loop is not None:
            self._loop.stop()
