"""Turns of tenants at the planner.

Planners take submissions in the order of their arrival. So the submissions of one tenant would wait for thousands of
another. So every ``EVERY_S`` seconds, a planner first plans the oldest waiting submissions of each tenant but the one
with the most. The submissions of that one are planned in their order, between these turns. A turn may also be due
between two parts of a long message.

Two threads may ask at the same moment, and both get the same submissions. The planner that finds a submission locked
leaves it alone, so each is planned once.
"""

from collections.abc import Callable, Iterator
from time import monotonic

from sluice.actors.planner.handlers import parts
from sluice.broker.messages import Plan
from sluice.jobs.catalogue import Catalogue
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle import tenant_order

#: Seconds between two turns: 0.25.
EVERY_S = 0.25
#: Submissions of each tenant in one turn: 20, which are planned in about 0.1 seconds.
MOST = 20


class TenantTurns:
    """Submissions that a planner takes out of their order."""

    def __init__(self, ledger: Ledger, clock: Callable[[], float] = monotonic) -> None:
        self._ledger = ledger
        self._clock = clock
        self._due_at = clock()

    def in_order(self, catalogue: Catalogue, message: Plan) -> Iterator[Plan]:
        """Yield the parts of a message, and before each of them the submissions that are due then."""
        for part in parts(message):
            for submission in self.due(catalogue):
                yield Plan(submissions=(submission,))
            yield part

    def due(self, catalogue: Catalogue) -> list[str]:
        """Return the submissions to plan now. With one tenant there are none, and no statement is sent."""
        if not catalogue.tenants or self._clock() < self._due_at:
            return []
        self._due_at = self._clock() + EVERY_S
        return self._ledger.transact(lambda tx: tenant_order.first_waiting(tx, catalogue.tenants, MOST))
