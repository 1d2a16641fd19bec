"""Coverage of several tables by partition: the range and size of each table, the states in each stretch of several
tables, and the owner of one partition. All reads are along the primary key of ``partition``."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from sluice.jobs.keys.calendar import Span
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.reads.by_partition.table_partitions import STALE, CellCounts, TableVersion

#: At most ``EXACT_MAX`` partitions of a table are counted. If it has more, their number is estimated from ``PROBES``
#: stretches.
EXACT_MAX, PROBES = 500, 40
_NEAR = 5

_GIVEN = "unnest(%(tables)s::text[], %(versions)s::text[]) AS given (table_name, version)"
_OF_TABLE = "partition.table_name = given.table_name AND partition.version = given.version"
# The minimum and the maximum each read one row of the index.
_ENDS = f"""
SELECT given.table_name,
       (SELECT min(partition) FROM partition WHERE {_OF_TABLE}) AS first,
       (SELECT max(partition) FROM partition WHERE {_OF_TABLE}) AS last,
       near.there, near.looked_at = %(look_max)s AS about
FROM {_GIVEN} CROSS JOIN LATERAL (
    SELECT count(done_at) AS there, count(*) AS looked_at FROM (
        SELECT done_at FROM partition WHERE {_OF_TABLE} LIMIT %(look_max)s) looked) near
"""
_LASTS = f"""
SELECT given.table_name, (SELECT max(partition) FROM partition WHERE {_OF_TABLE}) FROM {_GIVEN}
"""
_PROBE = f"""
SELECT stretch.table_name, sum(near.there * (stretch.behind - stretch.first) / greatest(CASE
           WHEN near.found < {_NEAR} THEN stretch.behind - stretch.first ELSE near.last - stretch.first + 1 END, 1))
FROM (
    SELECT table_name, version, first + (last + 1 - first)::bigint * step / %(probes)s AS first,
           first + (last + 1 - first)::bigint * (step + 1) / %(probes)s AS behind
    FROM unnest(%(tables)s::text[], %(versions)s::text[], %(firsts)s::int[], %(lasts)s::int[])
         AS given (table_name, version, first, last)
         CROSS JOIN generate_series(0, %(probes)s - 1) step) stretch
    CROSS JOIN LATERAL (
        SELECT count(*) AS found, count(done_at)::float8 AS there, max(partition) AS last FROM (
            SELECT partition, done_at FROM partition
            WHERE partition.table_name = stretch.table_name AND partition.version = stretch.version
              AND partition.partition >= stretch.first AND partition.partition < stretch.behind
            ORDER BY partition LIMIT {_NEAR}) looked) near
GROUP BY stretch.table_name
"""
# Existing partitions count as succeeded, whichever job made them. A missing partition has the state of its job. The
# cuts are read once per band instead of once per partition. The job of an existing partition is not read.
_CELLS = f"""
WITH given AS MATERIALIZED (
    SELECT row - 1 AS row, table_name, version, first, last, begins::int[] AS begins
    FROM unnest(%(tables)s::text[], %(versions)s::text[], %(firsts)s::int[], %(lasts)s::int[], %(begins)s::text[])
         WITH ORDINALITY AS given (table_name, version, first, last, begins, row)
)
SELECT given.row, width_bucket(partition.partition, given.begins) - 1,
       CASE WHEN partition.done_at IS NOT NULL THEN '{State.SUCCEEDED}' ELSE job.state END AS state, count(*),
       {STALE}
FROM given
     JOIN partition ON {_OF_TABLE} AND partition.partition BETWEEN given.first AND given.last
     LEFT JOIN job ON job.id = CASE WHEN partition.done_at IS NULL THEN partition.job END
WHERE partition.done_at IS NOT NULL OR job.state IS NOT NULL
GROUP BY 1, 2, 3
"""
_OWNER = """
SELECT job.app, job.key, job.state, partition.done_at, partition.stale_since, job.changed_at
FROM partition LEFT JOIN job ON job.id = partition.job
WHERE partition.table_name = %(table)s AND partition.version = %(version)s AND partition.partition = %(partition)s
"""


class TableRange(Struct, frozen=True, kw_only=True):
    """Range of a table, from its first to its last recorded partition. ``there`` is the number of existing partitions;
    ``about``: it is an estimate."""

    span: Span
    there: int
    about: bool


class Band(Struct, frozen=True, kw_only=True):
    """Stretch of a table, cut at the partitions ``begins``. They are sorted, and the first is the first of the
    stretch."""

    place: TableVersion
    span: Span
    begins: Sequence[int]


class PartitionOwner(Struct, frozen=True):
    """Job that a partition belongs or belonged to. ``app``, ``key`` and ``state`` are None if the partition landed from
    elsewhere. ``done_at`` is None if the partition does not exist, and ``stale_since`` if it is not stale."""

    app: str | None
    key: str | None
    state: State | None
    done_at: datetime | None
    stale_since: datetime | None
    changed_at: datetime | None


def extents(tx: Tx, places: Sequence[TableVersion]) -> dict[str, TableRange]:
    """Return the extent of each table. A table without partitions is left out."""
    rows = tx.rows(_ENDS, **arrays(places, "tables", "versions"), look_max=EXACT_MAX + 1)
    ends = {
        table: (Span(first, last), there, about)
        for table, first, last, there, about in rows
        if last is not None
    }
    large = [
        (*place, *ends[place.table][0]) for place in places if place.table in ends and ends[place.table][2]
    ]
    told = arrays(large, "tables", "versions", "firsts", "lasts")
    rows = tx.rows(_PROBE, **told, probes=PROBES) if large else []
    estimates = {str(table): float(there) for table, there in rows}
    return {
        table: TableRange(
            span=span, there=round(estimates[table]) if table in estimates else there, about=about
        )
        for table, (span, there, about) in ends.items()
    }


def lasts(tx: Tx, places: Sequence[TableVersion]) -> dict[str, int]:
    """Return the last partition of each table. A table without partitions is left out."""
    rows = tx.rows(_LASTS, **arrays(places, "tables", "versions"))
    return {table: last for table, last in rows if last is not None}


def cells(tx: Tx, bands: Sequence[Band]) -> list[list[CellCounts]]:
    """Return, for each band and each stretch between two cuts, the number of partitions in each state and of stale
    ones. Partitions that were never requested are not counted."""
    found = [[CellCounts({}) for _ in band.begins] for band in bands]
    given = [
        (*band.place, *band.span, "{" + ",".join(map(str, band.begins)) + "}")
        for band in bands
        if band.begins
    ]
    told = arrays(given, "tables", "versions", "firsts", "lasts", "begins")
    shown = [counts for band, counts in zip(bands, found, strict=True) if band.begins]
    for row, cell, state, count, stale in tx.rows(_CELLS, **told) if given else []:
        shown[row][cell] = shown[row][cell].with_state(State(state), count, stale)
    return found


def owner(tx: Tx, place: TableVersion, partition: int) -> PartitionOwner | None:
    """Return the owner of a partition; None if it was never requested."""
    found = tx.structs(PartitionOwner, _OWNER, table=place.table, version=place.version, partition=partition)
    return found[0] if found else None
