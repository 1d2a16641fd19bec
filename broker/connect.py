"""Creation of a broker from a URL. Only this module touches dramatiq's and pika's global state."""

import logging
import re

from dramatiq import set_encoder

from sluice.broker.address import parse_address
from sluice.broker.codec import JsonEncoder
from sluice.broker.interface import Broker
from sluice.broker.memory import MemoryBroker
from sluice.broker.owner import InstallationOwner
from sluice.broker.signing import NO_KEYS, Keyring
from sluice.jobs.errors import BadSetting

QUEUE_TYPES = ("quorum", "classic")
#: Prefix of keys in Redis without a namespace: dramatiq's own default, so that any dramatiq program can publish without
#: knowing Sluice.
NAMESPACE = "dramatiq"
_NAMESPACE = re.compile(r"[A-Za-z0-9._:-]{0,100}")


def connect(
    url: str,
    *,
    namespace: str = "",
    queue_type: str = "quorum",
    heartbeat_timeout_s: float = 15.0,
    keys: Keyring = NO_KEYS,
    owner: InstallationOwner | None = None,
    process: str = "sluice",
) -> Broker:
    """Return the broker at ``url``. Nothing is sent yet, so a broker that is down raises Unreachable at the first use.

    ``namespace`` begins the name of every queue. In Redis a worker that was silent for ``heartbeat_timeout_s`` counts
    as dead. ``queue_type`` and ``process``, which begins the names of connections, are for RabbitMQ. With ``keys``,
    published messages are signed, and messages without a valid signature are not read. With an ``owner``, the broker
    has to belong to that installation, or to none.
    """
    address = parse_address(url, setting="SLUICE_BROKER_URL")
    _check_namespace(namespace)
    encoder = JsonEncoder(keys)
    set_encoder(encoder)
    if address.scheme == "memory":
        return MemoryBroker()
    if address.scheme in ("redis", "rediss"):
        from sluice.broker.redis.broker import RedisBroker  # noqa: PLC0415 # A sixth of a worker's start time.

        place, timeout_s = namespace or NAMESPACE, heartbeat_timeout_s
        return RedisBroker(
            address, namespace=place, heartbeat_timeout_s=timeout_s, encoder=encoder, owner=owner
        )
    if queue_type not in QUEUE_TYPES:
        raise BadSetting(f"The queue type {queue_type!r} is not one of {', '.join(QUEUE_TYPES)}.")
    from sluice.broker.rabbitmq.broker import RabbitmqBroker  # noqa: PLC0415 # Imported only if needed.

    # pika logs a traceback for every refused connection. The relevant part of it is in Sluice's own log lines.
    logging.getLogger("pika").setLevel(logging.CRITICAL)
    return RabbitmqBroker(
        address, queue_type=queue_type, encoder=encoder, owner=owner, namespace=namespace, process=process
    )


def _check_namespace(namespace: str) -> None:
    if not _NAMESPACE.fullmatch(namespace):
        raise BadSetting(
            f"SLUICE_BROKER_NAMESPACE: {namespace!r} is not made of letters, digits and the signs . _ : -.",
            advice="For example SLUICE_BROKER_NAMESPACE=staging",
        )
