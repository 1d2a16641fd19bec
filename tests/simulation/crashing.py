"""A ledger whose caller may die around any commit, or lose its answer."""

import random
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import TypeVar

from ledger.connection import Ledger, Tx
from tests.simulation.faults import Faults

T = TypeVar("T")

_WRITES = "SELECT pg_current_xact_id_if_assigned() IS NOT NULL"


class Crash(Exception):
    """The process that was in the middle of this is dead."""


class CrashingLedger(Ledger):
    """Dying before the commit leaves nothing, dying after it leaves all and tells nobody.

    One whose commit's answer is lost lives on and does the same again, as ``Ledger.transact`` does. Whoever looks on
    asks whether anything ``has_written``.
    """

    def __init__(self, url: str, rng: random.Random, clock: Callable[[], datetime]) -> None:
        super().__init__(url, connections=1, clock=clock)
        self._rng = rng
        self.faults = Faults()
        self.has_written = False

    def transact(self, work: Callable[[Tx], T]) -> T:
        if self._rng.random() < self.faults.crash_before_commit:
            raise Crash
        result = super().transact(partial(self._noting, work))
        if self._rng.random() < self.faults.crash_after_commit:
            raise Crash
        if self._rng.random() < self.faults.repeat_commit:
            result = super().transact(partial(self._noting, work))
        return result

    def _noting(self, work: Callable[[Tx], T], tx: Tx) -> T:
        result = work(tx)
        self.has_written = self.has_written or bool(tx.column(_WRITES)[0])
        return result
