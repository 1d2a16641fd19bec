"""Resources of all worlds, one after another: an empty ledger, and connections with prepared statements.

Preparing and planning the statements again would take a third of a world's time.
"""

from collections.abc import Callable
from datetime import datetime

from sluice.jobs.simulated import NO_FAULTS
from sluice.ledger.database.connection import Ledger
from sluice.ledger.fixtures import empty
from sluice.ops.simulation.faults import FaultSource
from tests.simulation.overlap import OverlappedLedger

_NOBODY = FaultSource(0, NO_FAULTS)


class Ground:
    """Ledgers of a world. ``ledger`` belongs to the installation and has faults, ``plain`` is for checks, and
    ``beside`` is for transactions that overlap with those of the installation."""

    def __init__(self, url: str) -> None:
        self.plain = Ledger(url, connections=1, steady=True, clock=self._now)
        self.ledger = OverlappedLedger(url, _NOBODY, self._now)
        self.beside = Ledger(url, connections=1, steady=True, clock=self._now)
        self._clock: Callable[[], datetime] | None = None

    def begin(self, fate: FaultSource, clock: Callable[[], datetime]) -> None:
        """Empty the ledger, and use the faults and the clock of the next world."""
        self._clock = clock
        self.plain.transact(empty)
        self.ledger.be_struck_by(fate)

    def close(self) -> None:
        self.plain.close()
        self.ledger.close()
        self.beside.close()

    def _now(self) -> datetime:
        if self._clock is None:
            raise RuntimeError("no world stands here")
        return self._clock()
