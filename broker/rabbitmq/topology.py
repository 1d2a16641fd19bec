"""Definition of queues in RabbitMQ: durable, quorum by default, each with a queue for its dead letters.

The planner's queue can also be reached by an exchange of its own. So a submitter need not have the default exchange,
which reaches every queue. Only submissions are read from that exchange.
"""

import re
from typing import Any

from dramatiq.brokers.rabbitmq import DEAD_MESSAGE_TTL
from dramatiq.common import xq_name
from msgspec import Struct
from pika.adapters.blocking_connection import BlockingChannel
from pika.channel import Channel
from pika.exceptions import ChannelClosedByBroker

from sluice.broker.log import one_line
from sluice.broker.messages import PLANNER, Submit, SubmitMany
from sluice.broker.owner import ID_CHARS, InstallationOwner
from sluice.jobs.errors import BadSetting

#: The ledger judges poison jobs. RabbitMQ must not throw a message out because it was given back often.
DELIVERY_LIMIT = 1_000_000

#: Seconds before a deleted queue is made again. RabbitMQ 3.10 does not notify the consumers of a quorum queue that is
#: back within 20 ms (measured: 0 of 15 notified; from 50 ms on, all). Then it does not feed them, or drops their
#: messages as seen before.
ABSENCE_S = 0.25

#: Direct exchange, bound to the planner's queue under that queue's name.
SUBMIT_EXCHANGE = "sluice.submit"
#: Actors that may be called by way of this exchange.
SUBMITS = frozenset({Submit.actor, SubmitMany.actor})

#: Queue without messages. Its arguments name the installation that the virtual host belongs to. RabbitMQ declares a
#: queue in one step. It refuses a declaration with another routing key for dead letters, and quotes both keys as far as
#: they fit.
OWNER_QUEUE = "sluice.installation"
_MARK = "x-dead-letter-routing-key"
_OTHER_MARK = re.compile(
    rf"arg '{_MARK}' for queue '(?:[^':]*:)?{re.escape(OWNER_QUEUE)}'(?:.*but current is '([^']*))?"
)

ACCESS_REFUSED = 403
NOT_FOUND = 404
PRECONDITION_FAILED = 406


class QueueNames(Struct, frozen=True):
    """Names of queues in RabbitMQ: Sluice's own, after the namespace and a colon if there is one."""

    namespace: str = ""

    def of(self, queue: str) -> str:
        return f"{self.namespace}:{queue}" if self.namespace else queue

    @property
    def submit_exchange(self) -> str:
        return self.of(SUBMIT_EXCHANGE)

    @property
    def owner_queue(self) -> str:
        return self.of(OWNER_QUEUE)


#: Names without a namespace.
PLAIN = QueueNames()


def arguments(queue: str, queue_type: str) -> dict[str, Any]:
    limit = {"x-delivery-limit": DELIVERY_LIMIT} if queue_type == "quorum" else {}
    return {
        "x-queue-type": queue_type,
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": xq_name(queue),
        **limit,
    }


def declare(
    channel: BlockingChannel | Channel, queue: str, queue_type: str, names: QueueNames = PLAIN
) -> None:
    """Declare the queue and the queue for its dead letters. There is no delay queue, because nothing is ever delayed.

    If they exist with other arguments, RabbitMQ closes the channel. A blocking channel raises that; see ``refusal``.
    """
    name = names.of(queue)
    channel.queue_declare(name, durable=True, arguments=arguments(name, queue_type))
    dead = {"x-queue-type": queue_type, "x-message-ttl": DEAD_MESSAGE_TTL}
    channel.queue_declare(xq_name(name), durable=True, arguments=dead)
    if queue == PLANNER:
        channel.exchange_declare(names.submit_exchange, "direct", durable=True)
        channel.queue_bind(name, names.submit_exchange, routing_key=PLANNER)


def declare_owner(
    channel: BlockingChannel | Channel, mark: str, queue_type: str, names: QueueNames = PLAIN, **options: Any
) -> None:
    """Mark the virtual host. RabbitMQ closes the channel if it has another mark; see ``is_own``."""
    name = names.owner_queue
    arguments_of_mark = arguments(name, queue_type) | {_MARK: mark}
    channel.queue_declare(name, durable=True, arguments=arguments_of_mark, **options)


def is_own(error: ChannelClosedByBroker, owner: InstallationOwner, *, where: str) -> bool:
    """Return whether the virtual host is the owner's although RabbitMQ has refused to declare the mark.

    It is if the mark has another address of the same ledger. It counts as the owner's if this user may not declare
    queues. It is not certain if RabbitMQ has cut its answer off before the mark. Then the shorter mark of this
    installation leaves more room. ForeignBroker if it is another installation's, and BadSetting for any other refusal.
    """
    if error.reply_code == ACCESS_REFUSED:
        return True
    found = _OTHER_MARK.search(error.reply_text) if error.reply_code == PRECONDITION_FAILED else None
    if not found:
        raise refusal(where, error)
    mark = found[1] or ""
    if len(mark) < ID_CHARS:
        return False
    owner.require(mark, where=where)
    return True


def refusal(where: str, error: ChannelClosedByBroker) -> BadSetting:
    """Return RabbitMQ's refusal as an error for people."""
    text = one_line(error.reply_text)
    if error.reply_code != PRECONDITION_FAILED:
        return BadSetting(f"RabbitMQ refused: {text}.", where=where, advice="Check the user's permissions.")
    return BadSetting(
        f"A queue exists in RabbitMQ with other arguments than ours: {text}.",
        where=where,
        advice="Let it run empty and delete it (rabbitmqctl delete_queue NAME), or use its queue type.",
    )
