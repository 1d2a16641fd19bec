"""What worlds stand on, one after another: an empty ledger, and connections that know its statements already.

To prepare and plan them anew takes a world a third of its time.
"""

from collections.abc import Callable
from datetime import datetime

from sluice.jobs.simulated import NO_FAULTS
from sluice.ledger.connection import Ledger
from sluice.ledger.emptying import empty
from sluice.ops.simulation.crashing import CrashingLedger
from sluice.ops.simulation.fate import Fate

_NOBODY = Fate(0, NO_FAULTS)


class Ground:
    """``ledger`` is the installation's, where fate strikes, and ``plain`` that of who looks on."""

    def __init__(self, url: str) -> None:
        self.plain = Ledger(url, connections=1, steady=True, clock=self._now)
        self.ledger = CrashingLedger(url, _NOBODY, self._now)
        self._clock: Callable[[], datetime] | None = None

    def begin(self, fate: Fate, clock: Callable[[], datetime]) -> None:
        """Nothing has happened yet, and from now on it is this world's."""
        self._clock = clock
        self.plain.transact(empty)
        self.ledger.be_struck_by(fate)

    def close(self) -> None:
        self.plain.close()
        self.ledger.close()

    def _now(self) -> datetime:
        if self._clock is None:
            raise RuntimeError("no world stands here")
        return self._clock()
