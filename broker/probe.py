"""Examination of a broker, as far as the rights of an ordinary user allow.

It makes few requests, in a bounded time. No queue is created. One message is sent to test whether RabbitMQ accepts any,
and it goes nowhere.
"""

from collections.abc import Sequence

from sluice.broker.address import parse_address
from sluice.broker.connect import NAMESPACE
from sluice.broker.health import Health


def examine(
    url: str, queues: Sequence[str], *, namespace: str, queue_type: str, management: str | None = None
) -> Health | None:
    """Return the health of a broker, or None for a broker in memory. Unreachable if nothing can be read at all.

    ``management`` is the address of RabbitMQ's management API. Default: its usual port on the broker's host.
    """
    address = parse_address(url, setting="SLUICE_BROKER_URL")
    if address.scheme == "memory":
        return None
    if address.scheme in ("redis", "rediss"):
        from sluice.broker.redis import health as redis  # noqa: PLC0415 - a driver is imported for who has its broker

        return redis.examine(address, queues, namespace=namespace or NAMESPACE)
    from sluice.broker.rabbitmq import health as rabbitmq  # noqa: PLC0415 - as it is above

    return rabbitmq.examine(
        address, queues, namespace=namespace, queue_type=queue_type, management=management
    )
