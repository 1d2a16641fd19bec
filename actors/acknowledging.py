"""``job.done(partition)``: acknowledgement of a partition of a running step. It stays made even if the rest fails."""

import logging
from functools import partial
from threading import Event

from sluice.actors.transacting import ClaimLost
from sluice.jobs.calendar import Calendar
from sluice.jobs.errors import Unreachable
from sluice.jobs.ref import Claim
from sluice.ledger.database.connection import Ledger
from sluice.ledger.keyspaces import partitions

_LOG = logging.getLogger("sluice.executor")

#: Seconds between two attempts while the ledger is unreachable.
OFFER_AGAIN_S = 1.0


class Acknowledging:
    """Acknowledgements of one run. Each is in the ledger before the run continues; while the ledger is unreachable, the
    run waits."""

    def __init__(self, ledger: Ledger, right: Claim, calendar: Calendar, stop: Event) -> None:
        self._ledger = ledger
        self._right = right
        self._calendar = calendar
        self._stop = stop

    def acknowledge(self, text: str) -> None:
        """Acknowledge a partition of this step.

        ClaimLost if the claim was taken over, or if the partition is not this job's to make. Unreachable if the run is
        stopped while it waits for the ledger.
        """
        note = partial(partitions.acknowledge, right=self._right, partition=self._calendar.read(text))
        while True:
            try:
                held = self._ledger.transact(note)
                break
            except Unreachable as error:
                _LOG.warning("the acknowledgement of partition %s waits for the ledger: %s", text, error)
                if self._stop.wait(OFFER_AGAIN_S):
                    raise
        if not held:
            raise ClaimLost(f"Claim {self._right.number} was taken over; another run makes {text} now.")
