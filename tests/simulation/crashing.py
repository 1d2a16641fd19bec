"""A ledger whose caller may die around any commit, or lose its answer."""

import random
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from ledger.connection import Ledger, Tx
from tests.simulation.faults import Faults

T = TypeVar("T")


class Crash(Exception):
    """The process that was in the middle of this is dead."""


class CrashingLedger(Ledger):
    """Dying before the commit leaves nothing, dying after it leaves all and tells nobody.

    One whose commit's answer is lost lives on and does the same again, as ``Ledger.transact`` does.
    """

    def __init__(self, url: str, rng: random.Random, clock: Callable[[], datetime]) -> None:
        super().__init__(url, connections=1, clock=clock)
        self._rng = rng
        self.faults = Faults()

    def transact(self, work: Callable[[Tx], T]) -> T:
        if self._rng.random() < self.faults.crash_before_commit:
            raise Crash
        result = super().transact(work)
        if self._rng.random() < self.faults.crash_after_commit:
            raise Crash
        if self._rng.random() < self.faults.repeat_commit:
            result = super().transact(work)
        return result
