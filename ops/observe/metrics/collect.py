"""All metrics together."""

from threading import Lock

from sluice.broker.interface import Broker
from sluice.broker.messages import CONTROL
from sluice.ops.observe.metrics import families
from sluice.ops.observe.metrics.broker_metrics import Carried
from sluice.ops.observe.metrics.exposition import Values, documents, text
from sluice.ops.observe.metrics.families import Family
from sluice.ops.observe.metrics.ledger_metrics import numbers
from sluice.ops.operations.context import OperatorContext
from sluice.ops.operations.installation import Installation


class Metrics:
    """Reader of all metrics. Several threads may use it at the same time. It connects to the broker on first use."""

    def __init__(self, context: OperatorContext, installation: Installation) -> None:
        self._context = context
        self._installation = installation
        self._carried = Carried(self._connect)
        self._connecting = Lock()

    def text(self) -> str:
        return text(self.read())

    def documents(self) -> dict[str, list[dict[str, object]]]:
        return documents(self.read())

    def read(self) -> dict[Family, Values]:
        """Return all metrics. Unreachable if the ledger does not answer. If the broker does not answer, ``BROKER_UP``
        is 0 and the depths are missing.
        """
        defined = [*self._context.catalogue] if self._context.settings.apps else []
        found = self._installation.ask(lambda tx: numbers(tx, defined))
        if not self._installation.shares_a_broker:
            return found
        apps = [app for (app,) in found[families.QUEUE_DEPTH]]
        depths = self._carried.read([*CONTROL, *apps])
        return found | {
            families.BROKER_UP: {(): 0 if depths is None else 1},
            families.BROKER_MESSAGES: {
                (queue,): many for queue, many in (depths.waiting if depths else {}).items()
            },
            families.BROKER_DEAD: {(queue,): many for queue, many in (depths.dead if depths else {}).items()},
        }

    def _connect(self) -> Broker:
        with self._connecting:
            return self._installation.broker
