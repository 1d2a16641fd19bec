"""How queues look in RabbitMQ: durable, quorum by default, each with a queue for its dead letters.

The planner's can also be reached by an exchange of its own, so that whoever may submit need not be given the default
exchange, which reaches every queue. What comes by that is news of one kind: a submission.
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
from sluice.broker.owner import ID_CHARS, Owner
from sluice.jobs.errors import BadSetting

#: Our ledger judges poison jobs; RabbitMQ must not throw a message out because it was given back often.
DELIVERY_LIMIT = 1_000_000

#: A queue that was deleted is made again only after this. RabbitMQ 3.10 tells the consumers of a quorum
#: queue nothing when it is back within 20 ms (measured: 0 of 15 told; from 50 ms on, all), and does not
#: feed them, or drops what it would feed them as seen before.
ABSENCE_S = 0.25

#: Direct, and bound to the planner's queue under that queue's name.
SUBMIT_EXCHANGE = "sluice.submit"
#: The actors that may be called by it.
SUBMITS = frozenset({Submit.actor, SubmitMany.actor})

#: A queue without messages, whose arguments name the installation that the virtual host belongs to. RabbitMQ declares
#: a queue in one step, and refuses a declaration with another routing key for dead letters, quoting both as far as they
#: fit.
OWNER_QUEUE = "sluice.installation"
_MARK = "x-dead-letter-routing-key"
_OTHER_MARK = re.compile(
    rf"arg '{_MARK}' for queue '(?:[^':]*:)?{re.escape(OWNER_QUEUE)}'(?:.*but current is '([^']*))?"
)

ACCESS_REFUSED = 403
NOT_FOUND = 404
PRECONDITION_FAILED = 406


class Names(Struct, frozen=True):
    """What queues are called in RabbitMQ: like ours, after the namespace and a colon if there is one."""

    namespace: str = ""

    def of(self, queue: str) -> str:
        return f"{self.namespace}:{queue}" if self.namespace else queue

    @property
    def submit_exchange(self) -> str:
        return self.of(SUBMIT_EXCHANGE)

    @property
    def owner_queue(self) -> str:
        return self.of(OWNER_QUEUE)


#: Without a namespace.
PLAIN = Names()


def arguments(queue: str, queue_type: str) -> dict[str, Any]:
    limit = {"x-delivery-limit": DELIVERY_LIMIT} if queue_type == "quorum" else {}
    return {
        "x-queue-type": queue_type,
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": xq_name(queue),
        **limit,
    }


def declare(channel: BlockingChannel | Channel, queue: str, queue_type: str, names: Names = PLAIN) -> None:
    """The queue and the one for its dead letters. There is no delay queue: nothing is ever delayed.

    Where they exist with other arguments RabbitMQ closes the channel, which a blocking one raises;
    see ``refusal``.
    """
    name = names.of(queue)
    channel.queue_declare(name, durable=True, arguments=arguments(name, queue_type))
    dead = {"x-queue-type": queue_type, "x-message-ttl": DEAD_MESSAGE_TTL}
    channel.queue_declare(xq_name(name), durable=True, arguments=dead)
    if queue == PLANNER:
        channel.exchange_declare(names.submit_exchange, "direct", durable=True)
        channel.queue_bind(name, names.submit_exchange, routing_key=PLANNER)


def declare_owner(
    channel: BlockingChannel | Channel, mark: str, queue_type: str, names: Names = PLAIN, **options: Any
) -> None:
    """Mark the virtual host. RabbitMQ closes the channel if it has another mark; see ``is_own``."""
    name = names.owner_queue
    arguments_of_mark = arguments(name, queue_type) | {_MARK: mark}
    channel.queue_declare(name, durable=True, arguments=arguments_of_mark, **options)


def is_own(error: ChannelClosedByBroker, owner: Owner, *, where: str) -> bool:
    """Return whether the virtual host is the owner's though RabbitMQ has refused to declare the mark.

    It is if the mark has another address of the same ledger. It counts as such if our user may not declare queues. It
    is not certain if RabbitMQ has cut its answer off before the mark: a shorter one of ours leaves more room.
    ForeignBroker if it is another installation's, and BadSetting for any other refusal.
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
    """What RabbitMQ's refusal means to a person."""
    text = one_line(error.reply_text)
    if error.reply_code != PRECONDITION_FAILED:
        return BadSetting(f"RabbitMQ refused: {text}.", where=where, advice="Look at the user's permissions.")
    return BadSetting(
        f"A queue exists in RabbitMQ with other arguments than ours: {text}.",
        where=where,
        advice="Let it run empty and delete it (rabbitmqctl delete_queue NAME), or use its queue type.",
    )
