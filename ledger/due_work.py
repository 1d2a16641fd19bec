"""Look of the leader for work that is due: one statement in each period."""

from typing import NamedTuple

from sluice.ledger import schedules
from sluice.ledger.database.connection import Tx
from sluice.ledger.notifications import deliveries
from sluice.ledger.recovery import groomer_steps
from sluice.ledger.retention import removal
from sluice.ledger.stats import state_counts

# A retention sweep is looked for only if no chore is due, because both are work of the same message.
_LOOK = f"""
SELECT {groomer_steps.IS_DUE} OR ({removal.IS_DUE}), ({schedules.ANY_DUE}), EXISTS ({state_counts.IS_DUE}),
       ({deliveries.IS_DUE}), EXISTS ({groomer_steps.HAS_RATE_LIMITS})
"""


class DueWork(NamedTuple):
    """Work that is due now. ``chores``: of the groomer, or a retention sweep. ``schedules``: of sources that this
    process does not load too. ``counts``: transitions that the state counts lack. ``deliveries``: events without
    receivers, and deliveries.

    ``has_rate_limits``: an app has a rate limit (``limits.rate_limits.next_s``).
    """

    chores: bool
    schedules: bool
    counts: bool
    deliveries: bool
    has_rate_limits: bool


def look(tx: Tx) -> DueWork:
    """Return what is due, in a single statement, so that the leader of an idle installation costs little."""
    return DueWork(*tx.rows(_LOOK, limit=1, before=None)[0])
