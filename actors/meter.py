"""What a process does all the time, and has counted in the ledger now and then."""

from collections.abc import Callable, Mapping

from sluice.ledger import happenings
from sluice.ledger.connection import Ledger
from sluice.ledger.happenings import What

#: Tells how often something has happened in this process so far.
Count = Callable[[], int]


class Meter:
    """``others`` are counted beside the round trips to the ledger."""

    def __init__(self, ledger: Ledger, others: Mapping[What, Count] | None = None) -> None:
        self._ledger = ledger
        self._counts = {What.ROUND_TRIP: ledger.round_trips, **(others or {})}
        self._read: dict[What, int] = dict.fromkeys(self._counts, 0)

    def read(self) -> None:
        """Add what has happened since the last time. Unreachable if the ledger does not answer: the next time then.

        A commit whose answer was lost is made again, and what it brought is counted twice.
        """
        found = {what: count() for what, count in self._counts.items()}
        new = {(what, ""): found[what] - self._read[what] for what in found}
        self._ledger.transact(lambda tx: happenings.add(tx, new))
        self._read = found
