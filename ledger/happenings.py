"""How often things have happened of which no row tells.

What is rare is counted where it happens, in the same transaction: a result that came too late, a hint that had to be
repeated. What happens all the time, as round trips do, each process counts for itself, and adds to what stands here
with every beat of its lease (``actors.lifeline``); what it did since the last one dies with it.

The rows are few and shared by all. They are written at the end of a transaction, in one order, and held for that long.
"""

from collections.abc import Mapping
from enum import StrEnum

from sluice.ledger.connection import Tx, arrays

_ADD = """
INSERT INTO happening (what, kind, times)
SELECT what, kind, times FROM unnest(%(what)s::text[], %(kind)s::text[], %(times)s::bigint[]) AS new (what, kind, times)
ORDER BY what, kind
ON CONFLICT (what, kind) DO UPDATE SET times = happening.times + excluded.times
"""
_ALL = "SELECT what, kind, times FROM happening"


class What(StrEnum):
    #: A worker told what a claim came to that was not its own any more.
    REFUSED = "refused"
    #: The planner refused a submission.
    SUBMISSION_REFUSED = "submission_refused"
    #: The groomer found something that should have been done by a message.
    REPAIRED = "repaired"
    #: A statement was sent to the ledger and its answer waited for.
    ROUND_TRIP = "round_trip"
    #: An event of lineage was dropped.
    LINEAGE_DROPPED = "lineage_dropped"


def add(tx: Tx, times: Mapping[tuple[What, str], int]) -> None:
    """Count these, each by what it is and of which kind."""
    rows = [(what, kind, many) for (what, kind), many in times.items() if many]
    if rows:
        tx.write(_ADD, **arrays(rows, "what", "kind", "times"))


def happened(tx: Tx) -> dict[tuple[str, str], int]:
    """How often what has happened, over all processes and times."""
    return {(what, kind): times for what, kind, times in tx.rows(_ALL)}
