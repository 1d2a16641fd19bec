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
INSERT INTO happening (what, kind, times)
SELECT what, kind, times FROM unnest(%(what)s::text[], %(kind)s::text[], %(times)s::bigint[]) AS new (what, kind, times)
ORDER BY what, kind
ON CONFLICT (what, kind) DO UPDATE SET times = happening.times + excluded.times
"""
_ALL = "SELECT what, kind, times FROM happening"


class What(StrEnum):
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


def add(tx: Tx, times: Mapping[tuple[What, str], int]) -> None:
    """Add these counts, each by event and kind."""
    rows = [(what, kind, many) for (what, kind), many in times.items() if many]
    if rows:
        tx.write(_ADD, **arrays(rows, "what", "kind", "times"))


def happened(tx: Tx) -> dict[tuple[str, str], int]:
    """Return the count of each event and kind, over all processes and times."""
    return {(what, kind): times for what, kind, times in tx.rows(_ALL)}
