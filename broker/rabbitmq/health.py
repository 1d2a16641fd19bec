"""Examination of a RabbitMQ, and facts from its management API.

``examine`` checks its queues, and whether it accepts messages. ``management_facts`` returns the alarms by node, and the
effective policies of each queue. No work depends on the API, and often it cannot be reached from the machines that run
jobs. So a failure is a result too, with its reason.
"""

import base64
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit
from urllib.request import Request, urlopen

import msgspec
import pika
from dramatiq.common import xq_name
from pika.adapters.blocking_connection import BlockingChannel, BlockingConnection
from pika.exceptions import AMQPError, ChannelClosedByBroker, ConnectionBlockedTimeout

from sluice.broker.address import Address
from sluice.broker.health import ClusterNode, Management, QueueHealth, RabbitmqHealth, Ruled
from sluice.broker.log import one_line
from sluice.broker.rabbitmq import topology as ours
from sluice.broker.rabbitmq.errors import LOSSES, reason
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
    queues = [ours.QueueNames(namespace).of(queue) for queue in queues]
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
        management=management_facts(address, queues, management),
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


def _line(connection: BlockingConnection, queue: str, queue_type: str) -> QueueHealth:
    try:
        with _channel(connection) as channel:
            found = channel.queue_declare(queue, passive=True).method
            dead = _dead(connection, queue)
    except ChannelClosedByBroker as refused:
        if refused.reply_code == ours.NOT_FOUND:
            return QueueHealth(queue=queue, exists=False)
        return QueueHealth(queue=queue, differs=one_line(refused.reply_text))
    return QueueHealth(
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


ANSWER_S_MAX = 3.0
#: Usual ports of the API, without TLS and with it.
PORT, TLS_PORT = 15672, 15671
_QUEUE_COLUMNS = "name,policy,operator_policy,effective_policy_definition"


class _Silent(Exception):
    """Raised when the API gives no answer. The text is the reason."""


def management_facts(address: Address, queues: Sequence[str], place: str | None) -> Management:
    """Return the facts from the API. ``place`` is its address. Default: its usual port on the broker's host."""
    place = (place or _usual_place(address)).rstrip("/")
    vhost = quote(unquote(urlsplit(address.url).path.removeprefix("/") or "/"), safe="")
    try:
        nodes = [_node(each) for each in _asked(address, f"{place}/api/nodes")]
        found = _asked(address, f"{place}/api/queues/{vhost}?columns={_QUEUE_COLUMNS}")
    except _Silent as why:
        return Management(place, why=str(why))
    ours = set(queues)
    ruled = [
        _ruled(each) for each in found if each["name"] in ours and each.get("effective_policy_definition")
    ]
    return Management(place, nodes=nodes, ruled=ruled)


def _usual_place(address: Address) -> str:
    host = urlsplit(address.url).hostname or "localhost"
    host = f"[{host}]" if ":" in host else host
    return f"https://{host}:{TLS_PORT}" if address.scheme == "amqps" else f"http://{host}:{PORT}"


def _asked(address: Address, url: str) -> Any:
    parts = urlsplit(address.url)
    who = f"{unquote(parts.username or 'guest')}:{unquote(parts.password or 'guest')}"
    request = Request(url, headers={"Authorization": f"Basic {base64.b64encode(who.encode()).decode()}"})  # noqa: S310 - an address that the operator gave
    try:
        with urlopen(request, timeout=ANSWER_S_MAX) as answer:  # noqa: S310 - an address that the operator gave
            return msgspec.json.decode(answer.read())
    except HTTPError as error:
        with error:
            hint = ": the user has no permission" if error.code in (401, 403) else ""
        raise _Silent(f"it answers {error.code}{hint}") from None
    except (URLError, OSError, HTTPException, ValueError) as error:
        raise _Silent(one_line(getattr(error, "reason", error))) from None


def _node(found: dict[str, Any]) -> ClusterNode:
    return ClusterNode(
        str(found["name"]),
        running=bool(found.get("running")),
        memory_alarm=bool(found.get("mem_alarm")),
        disk_alarm=bool(found.get("disk_free_alarm")),
    )


def _ruled(found: dict[str, Any]) -> Ruled:
    policies = " and ".join(str(found[word]) for word in ("policy", "operator_policy") if found.get(word))
    return Ruled(str(found["name"]), policies, dict(found["effective_policy_definition"]))
