"""Ledger with a caller that may die around any commit, or lose the answer to it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import TypeVar

from sluice.jobs.observe.failpoints import CommitPoints
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.reads.quiescence import has_written
from sluice.ops.simulation.faults import FaultKind, FaultSource

T = TypeVar("T")


class SimulatedDeath(Exception):
    """Raised when the simulated process dies."""


class CrashingLedger(Ledger):
    """Ledger with crashes. A death before the commit leaves nothing. A death after it leaves everything, and no
    message is sent.

    If the answer to a commit is lost, the caller lives and repeats the work, as ``Ledger.transact`` does.
    ``has_written`` records whether any transaction has written; its reader resets it. ``by`` names the process of
    the transactions.
    """

    def __init__(self, url: str, fate: FaultSource, clock: Callable[[], datetime]) -> None:
        # A step in a transaction of its own may read the journal, for example whether it was cancelled.
        super().__init__(url, connections=2, steady=True, clock=clock)
        self._fate = fate
        self._whose = "somebody"
        self.has_written = False

    def be_struck_by(self, fate: FaultSource) -> None:
        """Begin another simulation, with this fate."""
        self._fate = fate
        self.has_written = False

    @contextmanager
    def by(self, whom: str) -> Iterator[None]:
        """Attribute the transactions within the block to this process."""
        before, self._whose = self._whose, whom
        try:
            yield
        finally:
            self._whose = before

    def transact(self, work: Callable[[Tx], T], at: CommitPoints | None = None) -> T:
        fate, faults = self._fate, self._fate.faults
        if fate.strikes(FaultKind.DIES_BEFORE, self._whose, faults.crash_before_commit):
            raise SimulatedDeath
        result = super().transact(partial(self._noting, work), at)
        if fate.strikes(FaultKind.DIES_AFTER, self._whose, faults.crash_after_commit):
            raise SimulatedDeath
        if fate.strikes(FaultKind.REPEATED, self._whose, faults.repeat_commit):
            result = super().transact(partial(self._noting, work), at)
        return result

    def _noting(self, work: Callable[[Tx], T], tx: Tx) -> T:
        result = work(tx)
        self.has_written = self.has_written or has_written(tx)
        return result
