"""The running system that is worked on. Drivers for a database and three brokers take longer to import than many a
command takes to run, so it is a module of its own, for who needs it."""

from collections.abc import Callable
from contextlib import closing
from functools import cached_property
from typing import TypeVar

from actors.assembly import connect_broker, is_shared, ledger_address, open_ledger, telling, tracing
from actors.client import Client
from broker.carrier import Broker
from ledger.connection import Ledger, Tx
from ops.desk.desk import Desk

T = TypeVar("T")


class Installation:
    """Ledger, broker and client, each opened when it is first asked for and closed with the desk. Who ``works`` does so
    for long. One ``beside`` another has connections of its own to the ledger of that."""

    def __init__(self, desk: Desk, *, works: bool = False, beside: "Installation | None" = None) -> None:
        self._desk = desk
        self._works = works
        self._beside = beside

    @cached_property
    def ledger(self) -> Ledger:
        if self._beside is not None:
            return self._desk.keep(closing(Ledger(self._beside.ledger.url)))
        return self._desk.keep(open_ledger(self._desk.settings, steady=self._works))

    @cached_property
    def ledger_url(self) -> str:
        """Where the ledger is, whatever its schema."""
        return self._desk.keep(ledger_address(self._desk.settings))

    @cached_property
    def broker(self) -> Broker:
        return self._desk.keep(connect_broker(self._desk.settings))

    @cached_property
    def client(self) -> Client:
        definitions = (lambda: self._desk.catalogue) if self._desk.settings.apps else None
        settings = self._desk.settings
        self._desk.keep(tracing(settings))
        tell = self._desk.keep(telling(settings, self.ledger))
        return Client(self.ledger, tell, definitions, within=settings.traceparent)

    @property
    def shares_a_broker(self) -> bool:
        """Whether other processes can be reached; the in-process broker of another one cannot."""
        return is_shared(self._desk.settings)

    def ask(self, question: Callable[[Tx], T]) -> T:
        """Read something from the ledger."""
        return self.ledger.transact(question)
