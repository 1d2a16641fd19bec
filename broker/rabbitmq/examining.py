"""Examination of a RabbitMQ: its queues, whether it accepts messages, and facts from its management API."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import pika
from dramatiq.common import xq_name
from pika.adapters.blocking_connection import BlockingChannel, BlockingConnection
from pika.exceptions import AMQPError, ChannelClosedByBroker, ConnectionBlockedTimeout

from sluice.broker.address import Address
from sluice.broker.health import Line, RabbitmqHealth
from sluice.broker.log import one_line
from sluice.broker.rabbitmq import management as api
from sluice.broker.rabbitmq import queues as ours
from sluice.broker.rabbitmq.losses import LOSSES, reason
from sluice.jobs.errors import BadSetting, Unreachable

CONNECT_S_MAX = 4.0
#: Seconds until a blocked connection is given up. A RabbitMQ with an alarm takes a publisher's first message, and
#: nothing after it.
BLOCKED_S_MAX = 2.0
#: Routing key without a queue, so that the message is dropped.
_NOWHERE = "sluice.examination"


def examine(
    address: Address, queues: Sequence[str], *, namespace: str, queue_type: str, management: str | None
) -> RabbitmqHealth:
    """Return the health of a RabbitMQ. The lines have the names that queues have there."""
    queues = [ours.Names(namespace).of(queue) for queue in queues]
    with _connected(address) as connection:
        lines = [_line(connection, queue, queue_type) for queue in queues]
        # pika has no public way to the properties that the server sent when it was connected to.
        told = connection._impl.server_properties or {}
        # Last, because a connection is unusable once its publishing is blocked.
        blocked = _blocked(connection)
    return RabbitmqHealth(
        place=str(address),
        version=str(told.get("version", "")),
        blocked=blocked,
        lines=lines,
        management=api.examine(address, queues, management),
    )


@contextmanager
def _connected(address: Address) -> Iterator[BlockingConnection]:
    try:
        parameters = pika.URLParameters(address.url)
    except ValueError as error:
        raise BadSetting(f"The address {address} cannot be used: {one_line(error)}.") from None
    parameters.connection_attempts = 1
    parameters.socket_timeout = parameters.stack_timeout = CONNECT_S_MAX
    parameters.blocked_connection_timeout = BLOCKED_S_MAX
    parameters.client_properties = {"connection_name": "sluice doctor"}
    try:
        connection = BlockingConnection(parameters)
        try:
            yield connection
        finally:
            with suppress(*LOSSES):
                connection.close()
    except LOSSES as error:
        raise Unreachable(
            f"RabbitMQ cannot be used: {reason(error)}.",
            where=str(address),
            advice="Start it, or correct SLUICE_BROKER_URL.",
        ) from None


@contextmanager
def _channel(connection: BlockingConnection) -> Iterator[BlockingChannel]:
    """Yield a new channel, one for each declaration: RabbitMQ closes it if that is refused."""
    channel = connection.channel()
    yield channel
    channel.close()


def _line(connection: BlockingConnection, queue: str, queue_type: str) -> Line:
    try:
        with _channel(connection) as channel:
            found = channel.queue_declare(queue, passive=True).method
            dead = _dead(connection, queue)
    except ChannelClosedByBroker as refused:
        if refused.reply_code == ours.NOT_FOUND:
            return Line(queue=queue, exists=False)
        return Line(queue=queue, differs=one_line(refused.reply_text))
    return Line(
        queue=queue,
        waiting=found.message_count,
        consumers=found.consumer_count,
        dead=dead,
        differs=_difference(connection, queue, queue_type),
    )


def _dead(connection: BlockingConnection, queue: str) -> int:
    try:
        with _channel(connection) as channel:
            return int(channel.queue_declare(xq_name(queue), passive=True).method.message_count)
    except ChannelClosedByBroker as refused:
        if refused.reply_code == ours.NOT_FOUND:
            return 0
        raise


def _difference(connection: BlockingConnection, queue: str, queue_type: str) -> str:
    """Return the difference of an existing queue from Sluice's declaration, in RabbitMQ's words, or an empty text.

    The queue is declared once more, which leaves it as it is, or is refused. If the user may not declare, the
    difference is unknown and the text is empty.
    """
    try:
        with _channel(connection) as channel:
            arguments = ours.arguments(queue, queue_type)
            channel.queue_declare(queue, durable=True, arguments=arguments)
            return ""
    except ChannelClosedByBroker as refused:
        return "" if refused.reply_code == ours.ACCESS_REFUSED else one_line(refused.reply_text)


def _blocked(connection: BlockingConnection) -> str:
    """Return why RabbitMQ takes no messages, or an empty text if it does."""
    why: list[str] = []
    connection._impl.add_on_connection_blocked_callback(
        lambda _, frame: why.append(one_line(frame.method.reason))
    )
    try:
        channel = connection.channel()
        channel.confirm_delivery()
        for _ in range(2):
            _publish(channel)
    except ConnectionBlockedTimeout:
        return why[0] if why else "an alarm"
    except AMQPError as error:
        return reason(error)
    return ""


def _publish(channel: BlockingChannel) -> None:
    """Publish a message. The channel's confirm shows that it was taken."""
    channel.basic_publish("", _NOWHERE, b"", pika.BasicProperties(delivery_mode=1), mandatory=False)
