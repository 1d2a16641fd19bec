"""Resources that calls share, and the cached picture of the apps."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, TypeVar

import msgspec

from sluice.actors.audit_results import Reading
from sluice.actors.client import Client
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.model.submission import JSON
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ops.console.identity.roles import Who
from sluice.ops.console.streams import Streams
from sluice.ops.console.tenancy import TenantReach, reach_of
from sluice.ops.documents.backlog import Recent
from sluice.ops.observe.metrics.collect import Metrics
from sluice.ops.observe.overview.alarms import OwnDefinitions
from sluice.ops.observe.overview.page import Overview, overview
from sluice.ops.operations.context import OperatorContext
from sluice.ops.operations.installation import Installation

T = TypeVar("T")
#: Connections for probes and metrics: one for each of the two, and as many for reads that were given up.
PROBE_CONNECTIONS = 4


class Pictures:
    """Cached picture of the apps. It is drawn again if the definitions change, or if an app adds jobs of another one
    for the first time, because the layout of 300 apps takes a while.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._of: tuple[Catalogue, Sequence[tuple[str, str]]] | None = None
        self._content = b""

    def of(
        self,
        catalogue: Catalogue,
        added: Sequence[tuple[str, str]],
        drawn: Callable[[Catalogue, Sequence[tuple[str, str]]], Any],
    ) -> bytes:
        """Return the picture as JSON. ``added`` are pairs of an app and an app of which it has added jobs. Concurrent
        callers wait while it is drawn."""
        with self._lock:
            if self._of is None or self._of[0] is not catalogue or self._of[1] != added:
                self._content = msgspec.json.encode(drawn(catalogue, added)) + b"\n"
                self._of = (catalogue, added)
            return self._content


class ConsoleContext:
    """Ledger, client, definitions and caches, for concurrent requests."""

    def __init__(self, context: OperatorContext, installation: Installation) -> None:
        self.context = context
        self.installation = installation
        self.streams = Streams(
            self.ask, self.overview, self._reach_of, outages=lambda: installation.ledger.outages
        )
        self._pictures: dict[str | None, Pictures] = defaultdict(Pictures)
        self.demand = Recent(self.ask)
        # With connections of its own, because other calls may hold all of the installation's.
        self._apart = Installation(context, beside=installation, connections=PROBE_CONNECTIONS)
        self.metrics = Metrics(context, installation, self._apart.ask)
        self.ledger_probe = self.metrics.ledger_probe

    def open(self) -> None:
        """Open shared resources now, because several threads may use them at the same time later."""
        _ = self.ledger, self.client, self._apart.ledger, self.has_definitions and self.catalogue

    @property
    def catalogue(self) -> Catalogue:
        """Current definitions. BadRequest if no definitions were named."""
        return self.context.catalogue

    @property
    def has_definitions(self) -> bool:
        return bool(self.context.settings.apps)

    def reach(self, who: Who | None) -> TenantReach:
        """Return the apps that the sender may see."""
        return self._reach_of(None if who is None else who.tenant)

    def _reach_of(self, tenant: str | None) -> TenantReach:
        return reach_of(tenant, lambda: self.catalogue if self.has_definitions else None)

    def pictures(self, reach: TenantReach) -> Pictures:
        """Return the cache for senders of this tenant."""
        return self._pictures[reach.tenant]

    def doing(self, who: Who | None, did: str, about: Mapping[str, JSON], reading: Reading) -> Client:
        """Return a client for one act, which is recorded in the audit in the same transaction. ``reading`` returns its
        outcome.
        """
        return self.installation.doing(did, about, reading, who=str(who))

    def ledger_doing(self, who: Who | None, did: str, about: Mapping[str, JSON], reading: Reading) -> Ledger:
        """Return a ledger for one act, which is recorded in the audit in the same transaction. ``reading`` returns its
        outcome.
        """
        return self.installation.ledger_doing(did, about, reading, who=str(who))

    @property
    def ledger(self) -> Ledger:
        return self.installation.ledger

    @property
    def client(self) -> Client:
        return self.installation.client

    def overview(self, tx: Tx) -> Overview:
        if not self.has_definitions:
            return overview(tx, [])
        definitions = self.context.definitions
        known = definitions.known
        own = OwnDefinitions(since=definitions.since, problem=known.problem)
        return overview(tx, [*definitions.current], own, known)

    def ask(self, question: Callable[[Tx], T]) -> T:
        """Read something from the ledger."""
        return self.installation.ask(question)
