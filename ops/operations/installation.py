"""The running system: ledger, broker and client.

It is a separate module, because its drivers for a database and three brokers take long to import. Many a command runs
faster than that and does not need them.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from functools import cached_property
from typing import TypeVar

from sluice.actors.assembly import (
    blobs,
    connect_broker,
    is_shared,
    ledger_address,
    open_ledger,
    owner_of,
    telling,
    tracing,
)
from sluice.actors.audit_results import Reading, audited
from sluice.actors.client import Client
from sluice.broker.interface import Broker
from sluice.broker.owner import InstallationOwner
from sluice.jobs.errors import ForeignBroker, Unreachable
from sluice.jobs.model.submission import JSON
from sluice.jobs.observe.outages import OWNER_UNCHECKED, missed
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ops.operations.context import OperatorContext, at_command_line

T = TypeVar("T")


class Installation:
    """Ledger, broker and client. Each is opened at its first use and closed with the ``OperatorContext``. ``works``:
    the process works for a long time. ``beside``: an installation with the same ledger, for which this one has separate
    connections, at most ``connections``.
    """

    def __init__(
        self,
        context: OperatorContext,
        *,
        works: bool = False,
        beside: "Installation | None" = None,
        connections: int = 8,
    ) -> None:
        self._context = context
        self._works = works
        self._beside = beside
        self._connections = connections

    @cached_property
    def ledger(self) -> Ledger:
        if self._beside is not None:
            other = self._beside.ledger
            made = Ledger(other.url, connections=self._connections, pooler_url=other.pooler_url)
            made.share_outages(other.outages)
            return self._context.keep(closing(made))
        if self._context.may_make_ledger and not self._context.has_ledger:
            self._context.note_new_ledger()
        return self._context.keep(
            open_ledger(self._context.settings, steady=self._works, may_make=self._context.may_make_ledger)
        )

    @cached_property
    def ledger_url(self) -> str:
        """Address of the ledger, whatever schema it has."""
        return self._context.keep(
            ledger_address(self._context.settings, may_make=self._context.may_make_ledger)
        )

    @cached_property
    def owner(self) -> InstallationOwner | None:
        """Identity of this installation for brokers. None if its messages never leave the process."""
        return owner_of(self._context.settings, self.ledger)

    @cached_property
    def broker(self) -> Broker:
        """Connected broker. Its first use raises ForeignBroker if it belongs to another installation."""
        return self._context.keep(connect_broker(self._context.settings, self.owner))

    @cached_property
    def client(self) -> Client:
        definitions = (lambda: self._context.catalogue) if self._context.settings.apps else None
        settings = self._context.settings
        self._context.keep(tracing(settings))
        tell = self._context.keep(telling(settings, self.ledger))
        client = Client(self.ledger, tell, definitions, blobs=blobs(settings), within=settings.traceparent)
        return self._context.keep(closing(client))

    def doing(
        self, did: str, about: Mapping[str, JSON], reading: Reading, *, who: str | None = None
    ) -> Client:
        """Return a client for one act, which is recorded in the audit in the same transaction. ``reading`` returns its
        outcome. ``who``: the actor; default: the user of the command line.
        """
        return self.client.beside(audited(who or at_command_line(), did, about, reading))

    def ledger_doing(
        self, did: str, about: Mapping[str, JSON], reading: Reading, *, who: str | None = None
    ) -> Ledger:
        """Return a ledger for one act, as ``doing`` does."""
        return self.ledger.beside(audited(who or at_command_line(), did, about, reading))

    def record_act(self, did: str, about: Mapping[str, JSON], result: Mapping[str, JSON]) -> None:
        """Write the audit entry of an act that takes many transactions, after the last one."""
        self.ledger_doing(did, about, lambda _, __: result).transact(lambda _: None)

    @property
    def shares_a_broker(self) -> bool:
        """True if messages reach other processes. The in-process broker of another process is out of reach."""
        return is_shared(self._context.settings)

    def require_own_broker(self) -> None:
        """Raise ForeignBroker if the broker belongs to another installation. If the broker is out of reach, the check
        is made at its first use.
        """
        try:
            self.broker.require_own()
        except ForeignBroker:
            raise
        except Unreachable as error:
            missed(error, OWNER_UNCHECKED)

    def ask(self, question: Callable[[Tx], T]) -> T:
        """Run a query in a transaction of the ledger."""
        return self.ledger.transact(question)
