"""A submission's tables by partition: how many of each stretch are in which state. The counting is done where the rows
are, however many there are."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from sluice.jobs.calendar import Span
from sluice.jobs.states import State
from sluice.ledger.connection import Tx
from sluice.ledger.reads.partitions import Place

# What a submission wants it does by its jobs; another submission may have taken over what died of them.
_EXTENTS = """
SELECT job.app, partition.place, partition.version, min(partition.partition), max(partition.partition)
FROM wants JOIN submission ON submission.number = wants.submission JOIN job ON job.id = wants.job
     JOIN partition ON partition.job = job.id
WHERE submission.id = %(id)s AND job.place IS NOT NULL
GROUP BY job.app, partition.place, partition.version ORDER BY job.app
"""
_CELLS = f"""
SELECT width_bucket(partition.partition, %(begins)s::int[]) - 1,
       CASE WHEN partition.done_at IS NOT NULL THEN '{State.SUCCEEDED}' ELSE job.state END AS state, count(*)
FROM partition LEFT JOIN job ON job.id = partition.job
WHERE partition.place = %(place)s AND partition.version = %(version)s
  AND partition.partition BETWEEN %(first)s AND %(last)s
  AND (partition.done_at IS NOT NULL OR job.state IS NOT NULL)
GROUP BY 1, 2 ORDER BY 1, 2
"""


class Extent(Struct, frozen=True):
    """An app that has a part in a submission, and its first and last partition in it."""

    app: str
    place: Place
    span: Span


def extents(tx: Tx, id: str) -> list[Extent]:
    """None of apps all of whose partitions were there before."""
    return [
        Extent(app, Place(table, version), Span(first, last))
        for app, table, version, first, last in tx.rows(_EXTENTS, id=id)
    ]


def cells(tx: Tx, place: Place, span: Span, begins: Sequence[int]) -> Sequence[Mapping[State, int]]:
    """Between each of these partitions, which are in order, and the next: how many there are in each state. What is
    there has succeeded; what has never been asked for has no state and is not counted."""
    found: list[dict[State, int]] = [{} for _ in begins]
    rows = tx.rows(_CELLS, place=place.table, version=place.version, **span._asdict(), begins=[*begins])
    for cell, state, count in rows:
        found[cell][State(state)] = count
    return found
