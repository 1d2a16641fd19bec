"""Wires of one place: a proxy to the broker and one to the ledger, so that a place can be cut off alone."""

from collections import Counter
from typing import NamedTuple

from tests.broker.proxy import Proxy

#: Bytes in the request that commits a transaction.
COMMIT = b"COMMIT"
#: Bytes that are in every request.
ANYTHING = b""
_BROKER_PORTS = {"amqp": 5672, "redis": 6379}
_POSTGRES_PORT = 5432


class Urls(NamedTuple):
    """The real URLs of both servers."""

    broker: str
    ledger: str


class Wires:
    def __init__(self, urls: Urls) -> None:
        self.broker = Proxy(urls.broker, default_port=_BROKER_PORTS[urls.broker.partition(":")[0]])
        self.ledger = Proxy(urls.ledger, default_port=_POSTGRES_PORT)

    def heal(self) -> None:
        self.broker.heal()
        self.ledger.heal()

    def close(self) -> None:
        self.broker.close()
        self.ledger.close()

    @property
    def broken(self) -> Counter[str]:
        """Number of connections that ended at a request, counted by the server and by the side of the request."""
        sides = {"broker": self.broker.broken, "ledger": self.ledger.broken}
        return Counter({f"{side}, {where}": n for side, found in sides.items() for where, n in found.items()})
