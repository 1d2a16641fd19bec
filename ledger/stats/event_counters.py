"""Counters of events that leave no row, for example rejected results.

Rare events are counted where they happen, in the same transaction: a result that came too late, a notification that had
to be repeated. Frequent events like round trips are counted by each process. It adds its counts to these counters with
every heartbeat (``actors.worker.heartbeat``). If it dies, its counts since the last heartbeat are lost.

The rows are few, and shared by all processes. They are written at the end of a transaction, in a fixed order, and
locked from then to its commit.
"""

from collections.abc import Mapping
from enum import StrEnum

from sluice.ledger.database.connection import Tx, arrays

_ADD = """
INSERT INTO event_counter (name, label, count)
SELECT name, label, count FROM unnest(%(names)s::text[], %(labels)s::text[], %(counts)s::bigint[]) AS new (name,
    label, count)
ORDER BY name, label
ON CONFLICT (name, label) DO UPDATE SET count = event_counter.count + excluded.count
"""
_ALL = "SELECT name, label, count FROM event_counter"


class CounterName(StrEnum):
    #: A worker recorded the outcome of a claim that was not its own any more.
    REFUSED = "refused"
    #: The planner refused a submission.
    SUBMISSION_REFUSED = "submission_refused"
    #: The groomer did work that a message should have started.
    REPAIRED = "repaired"
    #: A statement was sent to the ledger, and its answer awaited.
    ROUND_TRIP = "round_trip"
    #: A lineage event was dropped.
    LINEAGE_DROPPED = "lineage_dropped"
    #: The output or the result of a run could not be stored whole.
    BLOB_LOST = "blob_lost"


def add(tx: Tx, counts: Mapping[tuple[CounterName, str], int]) -> None:
    """Add these counts, each by name and label."""
    rows = [(name, label, count) for (name, label), count in counts.items() if count]
    if rows:
        tx.write(_ADD, **arrays(rows, "names", "labels", "counts"))


def happened(tx: Tx) -> dict[tuple[str, str], int]:
    """Return the value of each counter, over all processes and times."""
    return {(name, label): count for name, label, count in tx.rows(_ALL)}
