"""Counters of frequent events, and mean durations. A process has them in memory, and adds them to the ledger from time
to time."""

from collections.abc import Callable, Mapping

from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.stats import event_counters, runtimes
from sluice.ledger.stats.event_counters import CounterName

#: Returns how often something has happened in this process so far.
Count = Callable[[], int]


class ProcessCounters:
    """Counters of one process: the round trips to the ledger, and the ``others``.

    ``mean_run_times`` returns the mean durations of runs by app that have changed. The transaction that ends a job
    mostly leaves them to this one.
    """

    def __init__(
        self,
        ledger: Ledger,
        others: Mapping[CounterName, Count] | None = None,
        *,
        mean_run_times: Callable[[], Mapping[str, float]] = dict,
    ) -> None:
        self._ledger = ledger
        self._mean_run_times = mean_run_times
        self._counts = {CounterName.ROUND_TRIP: ledger.round_trips, **(others or {})}
        self._read: dict[CounterName, int] = dict.fromkeys(self._counts, 0)

    def read(self) -> None:
        """Add the events since the last call to the ledger. Unreachable if it does not answer; then the next call adds
        them.

        If the answer to a commit is lost, the commit is made again and its events are counted twice.
        """
        found = {what: count() for what, count in self._counts.items()}
        new = {(what, ""): found[what] - self._read[what] for what in found}
        mean_s = [*self._mean_run_times().items()]

        def add(tx: Tx) -> None:
            event_counters.add(tx, new)
            runtimes.note(tx, mean_s)

        # The counts alone are one statement.
        run = self._ledger.transact if mean_s else self._ledger.run_alone
        run(add)
        self._read = found
