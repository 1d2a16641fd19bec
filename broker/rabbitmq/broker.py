"""dramatiq's RabbitMQ broker with Sluice's queues, publisher and intake."""

import os
from collections.abc import Callable, Collection, Sequence
from copy import copy
from socket import gethostname
from threading import Lock, Thread
from time import monotonic, sleep
from types import SimpleNamespace
from typing import Any, TypeVar

import pika
from dramatiq.brokers.rabbitmq import RabbitmqBroker as DramatiqRabbitmqBroker
from dramatiq.common import xq_name
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ChannelClosedByBroker

from sluice.broker import codec
from sluice.broker.address import Address
from sluice.broker.codec import Letter
from sluice.broker.consumer.inbox import Reception
from sluice.broker.interface import Carrier
from sluice.broker.log import one_line
from sluice.broker.messages import Message
from sluice.broker.owner import InstallationOwner
from sluice.broker.rabbitmq import topology
from sluice.broker.rabbitmq.consumer import RabbitmqIntake
from sluice.broker.rabbitmq.errors import LOSSES, reason
from sluice.broker.rabbitmq.publisher import Publisher
from sluice.jobs.errors import BadSetting, ForeignBroker, Unreachable
from sluice.jobs.observe.outages import OutageLog

#: Maximum number of letters that are on their way at the same time.
BATCH_MAX = 1_000
#: Number of attempts to send a letter before its sender gets Unreachable.
ATTEMPTS = 3
ATTEMPT_PAUSE_S = 0.1
CONFIRM_S_MAX = 10.0
#: Seconds for which a broker may block its publishers (memory or disk alarm). A longer block is an error and not a
#: wait.
BLOCKED_S_MAX = 5.0
HEARTBEAT_S = 15
CONNECT_S_MAX = 5.0
GOODBYE_S_MAX = 1.0
#: Characters of the process's name in the names of its connections: 80, the names of about ten queues.
PROCESS_CHARS_MAX = 80
#: Name of a broker that blocks publishers, among the parts of an outage: other requests are answered meanwhile.
_BLOCKED = "blocked publishers"

T = TypeVar("T")


class RabbitmqBroker(Carrier, DramatiqRabbitmqBroker):
    """Broker for RabbitMQ. ``queue_type`` is ``quorum`` or ``classic``; a queue that exists must have it."""

    def __init__(
        self,
        address: Address,
        *,
        queue_type: str = "quorum",
        encoder: codec.JsonEncoder = codec.PLAIN,
        owner: InstallationOwner | None = None,
        namespace: str = "",
        process: str = "sluice",
    ) -> None:
        self.encoder = encoder
        try:
            # Without confirms, which only the publisher needs: if a connection is lost while a channel asks for them,
            # dramatiq raises KeyError when the channel is dropped.
            DramatiqRabbitmqBroker.__init__(self, url=address.url, middleware=[], confirm_delivery=False)
        except ValueError as error:
            raise BadSetting(f"The address {address} cannot be used: {one_line(error)}.") from None
        self._address = address
        self._queue_type = queue_type
        self._owner = owner
        self.outages = OutageLog(f"the broker {address}", monotonic)
        self._names = topology.QueueNames(namespace)
        self._is_own = owner is None
        #: Beginning of the names of its connections, with the process for people who look at RabbitMQ.
        self._process = f"{process[:PROCESS_CHARS_MAX]}, {os.getpid()} on {gethostname()}"
        tuned = _tuned(self.parameters, address.options)
        self.parameters = _named(tuned, f"{self._process}: requests")
        self._publisher = Publisher(_named(tuned, f"{self._process}: publishes"), self._names)
        # dramatiq would keep a connection for every thread. Requests other than publishing are rare, and share one
        # under a lock.
        self._errands = Lock()
        self.state = SimpleNamespace()  # type: ignore[assignment]  # in place of a thread-local one

    def publish(self, messages: Sequence[Message]) -> None:
        if not self._is_own:
            self.require_own()
        letters = [codec.seal(message, self.encoder) for message in messages]
        for start in range(0, len(letters), BATCH_MAX):
            self._send(letters[start : start + BATCH_MAX])

    def depth(self, queue: str) -> int:
        return self._count(self._names.of(queue))

    def dead_letters(self, queue: str) -> int:
        return self._count(xq_name(self._names.of(queue)))

    def purge(self, queue: str) -> None:
        self._errand(lambda channel: channel.queue_purge(self._names.of(queue)), missing=None)

    def ensure(self, queues: Collection[str]) -> None:
        for queue in queues:
            self._ensure_queue(queue)

    def require_own(self) -> None:
        """Mark the virtual host as this installation's, or check its mark. A user that may not declare queues, like
        that of the console, cannot check, and only publishes."""
        if (owner := self._owner) is not None:
            self._errand(lambda _: self._compare(owner), missing=None)
        self._is_own = True

    def take(self) -> str | None:
        if (owner := self._owner) is None:
            return None
        try:
            self.require_own()
        except ForeignBroker as error:
            self._errand(lambda channel: channel.queue_delete(self._names.owner_queue), missing=None)
            self.require_own()
            return error.found
        return owner.text

    def intake(self, reception: Reception) -> RabbitmqIntake:
        parameters = _named(self.parameters, f"{self._process}: takes messages")
        intake = RabbitmqIntake(
            str(self._address),
            parameters,
            reception,
            queue_type=self._queue_type,
            owner=self._owner,
            names=self._names,
        )
        intake.outages = self.outages
        return intake

    def close(self) -> None:
        self._publisher.close()
        # Closing would wait for a silent broker until its heartbeat is missed.
        goodbye = Thread(target=DramatiqRabbitmqBroker.close, args=[self], daemon=True)
        goodbye.start()
        goodbye.join(GOODBYE_S_MAX)

    def _send(self, letters: list[Letter]) -> None:
        """Send letters until each is confirmed. A letter with a lost confirm is sent again: twice is better than
        never."""
        left, why = letters, ""
        for attempt in range(ATTEMPTS):
            batch = self._publisher.send(left, timeout_s=CONFIRM_S_MAX)
            if batch.returned:
                sleep(topology.ABSENCE_S)
                self.ensure({letter.queue for letter in batch.returned})
            left, why = batch.lost + batch.returned, batch.why or why
            if not left:
                self.outages.answered()
                self.outages.answered(part=_BLOCKED)
                return
            if batch.is_blocked:
                break
            if batch.lost:
                sleep((attempt + 1) * ATTEMPT_PAUSE_S)
        text = f"{len(left)} of {len(letters)} messages were not confirmed: {why}"
        raise self._unreachable(text, part=_BLOCKED if batch.is_blocked else "")

    def _unreachable(self, why: str, *, part: str = "") -> Unreachable:
        advice = (
            "Start it, check its alarms (memory, disk) and its limit of open files, or correct the address."
        )
        error = Unreachable(f"RabbitMQ cannot be used: {why}.", where=str(self._address), advice=advice)
        error.outages = self.outages
        self.outages.failed(error, part=part)
        return error

    def _count(self, queue: str) -> int:
        def ask(channel: BlockingChannel) -> int:
            return int(channel.queue_declare(queue, passive=True).method.message_count)

        return self._errand(ask, missing=0)

    def _compare(self, owner: InstallationOwner) -> None:
        for mark in owner.marks:
            try:
                topology.declare_owner(self.channel, mark, self._queue_type, self._names)
            except ChannelClosedByBroker as closed:
                del self.channel
                if topology.is_own(closed, owner, where=str(self._address)):
                    return
            else:
                return
        raise owner.refused_by(InstallationOwner("", ""), where=str(self._address))

    def _errand(self, run: Callable[[BlockingChannel], T], *, missing: T) -> T:
        """Run a request on the shared channel. A connection that died while it was idle is made again."""
        why = ""
        for _ in range(2):
            with self._errands:
                try:
                    found = run(self.channel)
                    self.outages.answered()
                    return found
                except ChannelClosedByBroker as closed:
                    del self.channel
                    if closed.reply_code == topology.NOT_FOUND:
                        return missing
                    raise topology.refusal(str(self._address), closed) from None
                except LOSSES as lost:
                    del self.connection
                    why = reason(lost)
        raise self._unreachable(why)

    def _ensure_queue(self, queue: str) -> None:
        self._errand(
            lambda channel: topology.declare(channel, queue, self._queue_type, self._names), missing=None
        )

    def _build_queue_arguments(self, queue: str) -> dict[str, Any]:
        """Return the arguments of a queue. Parts of dramatiq declare a queue in order to count it."""
        return topology.arguments(self._names.of(queue), self._queue_type)


def _tuned(parameters: pika.URLParameters, given: frozenset[str]) -> pika.URLParameters:
    """Set Sluice's limits, unless the URL has its own."""
    ours = {
        "heartbeat": HEARTBEAT_S,
        "blocked_connection_timeout": BLOCKED_S_MAX,
        "socket_timeout": CONNECT_S_MAX,
        "stack_timeout": CONNECT_S_MAX,
    }
    for name in ours.keys() - given:
        setattr(parameters, name, ours[name])
    return parameters


def _named(parameters: pika.URLParameters, name: str) -> pika.URLParameters:
    """Return the parameters with a name for the connection, which RabbitMQ's own tools show."""
    named = copy(parameters)
    named.client_properties = {"connection_name": name}
    return named
