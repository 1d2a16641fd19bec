"""The wires of one place: a proxy to the broker and one to the ledger, so that one can be cut off alone."""

from collections import Counter
from typing import NamedTuple

from tests.broker.proxy import Proxy

#: How a transaction says that it is to be kept.
COMMIT = b"COMMIT"
#: In whatever is sent.
ANYTHING = b""
_BROKER_PORTS = {"amqp": 5672, "redis": 6379}
_POSTGRES_PORT = 5432


class Urls(NamedTuple):
    """Where both servers really are."""

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
        """How many connections ended at a request that was waited for, by whom it was sent to and when that was."""
        sides = {"broker": self.broker.broken, "ledger": self.ledger.broken}
        return Counter({f"{side}, {where}": n for side, found in sides.items() for where, n in found.items()})
