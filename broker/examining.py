"""How a broker is, as far as it tells whoever may only use it.

It is asked little, and for a bounded time: nothing is declared that is not there, and the one message that is sent to
see whether RabbitMQ takes any goes nowhere.
"""

from collections.abc import Sequence

from sluice.broker.address import parse_address
from sluice.broker.connect import NAMESPACE
from sluice.broker.health import Health


def examine(
    url: str, queues: Sequence[str], *, namespace: str, queue_type: str, management: str | None = None
) -> Health | None:
    """None for a broker that lives in the process that uses it. Unreachable where nothing can be had at all.

    ``management`` is where RabbitMQ's management API is, where that is not its usual port on the broker's host.
    """
    address = parse_address(url, setting="SLUICE_BROKER_URL")
    if address.scheme == "memory":
        return None
    if address.scheme in ("redis", "rediss"):
        from sluice.broker.redis import examining as redis  # noqa: PLC0415 - a driver is imported for who has its broker

        return redis.examine(address, queues, namespace=namespace or NAMESPACE)
    from sluice.broker.rabbitmq import examining as rabbitmq  # noqa: PLC0415 - as it is above

    return rabbitmq.examine(
        address, queues, namespace=namespace, queue_type=queue_type, management=management
    )
