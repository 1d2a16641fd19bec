"""All metrics together, within two seconds, even if the ledger or the broker hangs.

Prometheus drops a target that takes longer than its timeout, and with it the metrics that would report an outage. So
the ledger and the broker are read in separate threads, and a family that is not known in time is left out. A ledger
that is busy may need longer for its metrics. Then each reading has the values of the one before, because alerts would
begin again after a reading without values.
"""

import logging
from collections.abc import Callable, Sequence
from threading import Lock
from time import monotonic
from typing import Any

from sluice.broker.interface import Broker
from sluice.broker.messages import CONTROL
from sluice.jobs.release import release
from sluice.ledger.database.connection import Tx
from sluice.ledger.schema.migrate import REVISION
from sluice.ops.observe.bounded_reader import BoundedReader
from sluice.ops.observe.ledger_probe import LedgerProbe
from sluice.ops.observe.metrics import families
from sluice.ops.observe.metrics.broker_metrics import Carried
from sluice.ops.observe.metrics.exposition import Values, documents, text
from sluice.ops.observe.metrics.families import Family
from sluice.ops.observe.metrics.ledger_metrics import numbers
from sluice.ops.operations.context import OperatorContext
from sluice.ops.operations.installation import Installation

_LOG = logging.getLogger("sluice.metrics")

#: Seconds within which all metrics are known or left out.
ANSWER_S = 1.9
#: Seconds of these that are left for the broker if the ledger does not answer.
BROKER_S = 0.9
#: Seconds for which metrics that came too late are returned instead of newer values that are not known in time: 60, the
#: longest interval between two readings that is common.
LATE_S = 60.0


class Metrics:
    """Reader of all metrics. Several threads may use it at the same time. It connects to the broker on first use.
    ``ask`` runs a query on the ledger. The caller has opened that ledger already.
    """

    def __init__(
        self,
        context: OperatorContext,
        installation: Installation,
        ask: Callable[[Callable[[Tx], Any]], Any],
        *,
        within_s: float = ANSWER_S,
    ) -> None:
        self.ledger_probe = LedgerProbe(ask)
        self._context = context
        self._installation = installation
        self._ask = ask
        self._within_s = within_s
        self._numbers = BoundedReader(
            self._read_ledger, subject="metrics of the ledger", log=_LOG, late_s=LATE_S
        )
        self._carried = Carried(self._connect)
        self._connecting = Lock()
        self._apps: Sequence[str] = ()

    def text(self) -> str:
        return text(self.read())

    def documents(self) -> dict[str, list[dict[str, object]]]:
        return documents(self.read())

    def read(self) -> dict[Family, Values]:
        """Return all metrics that are known in time. If the ledger does not answer, ``LEDGER_UP`` is 0 and its metrics
        are missing. If the broker does not answer, ``BROKER_UP`` is 0 and the depths are missing.
        """
        until = monotonic() + self._within_s
        up, numbers_until = self.ledger_probe.start(), self._numbers.start()
        if (found := numbers_until(until - BROKER_S)) is not None:
            self._apps = [app for (app,) in found[families.QUEUE_DEPTH]]
        of_broker = self._read_broker(until) if self._installation.shares_a_broker else {}
        found = numbers_until(until)
        is_up = found is not None or up(until) is True
        return {
            families.BUILD_INFO: {(release(), REVISION): 1},
            families.LEDGER_UP: {(): float(is_up)},
            families.APP_INFO: dict.fromkeys(self._tenants().items(), 1),
            **(found or {}),
            **of_broker,
        }

    def _tenants(self) -> dict[str, str]:
        """Return the tenant of each app of the definitions, if this process has any."""
        if not self._context.settings.apps:
            return {}
        catalogue = self._context.catalogue
        return {app: catalogue.tenant_of(app) for app in catalogue}

    def _read_ledger(self) -> dict[Family, Values]:
        settings = self._context.settings
        defined = [*self._tenants()]

        def ask(tx: Tx) -> dict[Family, Values]:
            return numbers(tx, defined, keep_s=settings.keep_history_s, keep_jobs_s=settings.keep_jobs_s)

        found: dict[Family, Values] = self._ask(ask)
        return found

    def _read_broker(self, until: float) -> dict[Family, Values]:
        depths = self._carried.read([*CONTROL, *self._apps], until)
        return {
            families.BROKER_UP: {(): 0 if depths is None else 1},
            families.BROKER_MESSAGES: {
                (queue,): many for queue, many in (depths.waiting if depths else {}).items()
            },
            families.BROKER_DEAD: {(queue,): many for queue, many in (depths.dead if depths else {}).items()},
        }

    def _connect(self) -> Broker:
        with self._connecting:
            return self._installation.broker
