"""Counters of frequent events. A process counts in memory and adds the counts to the ledger from time to time."""

from collections.abc import Callable, Mapping

from sluice.ledger.database.connection import Ledger
from sluice.ledger.stats import event_counters
from sluice.ledger.stats.event_counters import CounterName

#: Returns how often something has happened in this process so far.
Count = Callable[[], int]


class ProcessCounters:
    """Counters of one process: the round trips to the ledger, and the ``others``."""

    def __init__(self, ledger: Ledger, others: Mapping[CounterName, Count] | None = None) -> None:
        self._ledger = ledger
        self._counts = {CounterName.ROUND_TRIP: ledger.round_trips, **(others or {})}
        self._read: dict[CounterName, int] = dict.fromkeys(self._counts, 0)

    def read(self) -> None:
        """Add the events since the last call to the ledger. Unreachable if it does not answer; then the next call adds
        them.

        If the answer to a commit is lost, the commit is made again and its events are counted twice.
        """
        found = {what: count() for what, count in self._counts.items()}
        new = {(what, ""): found[what] - self._read[what] for what in found}
        self._ledger.transact(lambda tx: event_counters.add(tx, new))
        self._read = found
