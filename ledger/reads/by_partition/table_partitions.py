"""Partitions of tables: the existing partitions, the jobs that make the others, and the existing partitions of one
job."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from sluice.jobs.keys.calendar import Span
from sluice.jobs.model.names import JobName
from sluice.jobs.states import LIVE, State, sql_list
from sluice.ledger.database.connection import Tx, arrays

_LIVE = sql_list(*sorted(LIVE))

_OF_TABLE = "partition.table_name = %(table)s AND partition.version = %(version)s"
_MAKERS = f"""
SELECT job.app, job.key, count(*) FROM partition LEFT JOIN job ON job.id = partition.job
WHERE {_OF_TABLE} AND partition.partition BETWEEN %(first)s AND %(last)s
GROUP BY job.id, job.app, job.key ORDER BY min(partition.partition) LIMIT %(limit)s
"""
_DONE = """
SELECT min(partition), max(partition) FROM (
    SELECT partition, partition - row_number() OVER (ORDER BY partition) AS island
    FROM partition WHERE job = %(job)s AND done_at IS NOT NULL) done
GROUP BY island ORDER BY 1
"""
# A missing partition of a dead job may be made by any other job, so it counts as missing.
_HOLDINGS = f"""
SELECT given.table_name, min(held.partition), max(held.partition), count(*) FILTER (WHERE held.done),
       count(*) FILTER (WHERE held.done AND held.stale), count(*) FILTER (WHERE NOT held.done),
       count(*) FILTER (WHERE held.partition > held.before + 1)
FROM unnest(%(tables)s::text[], %(versions)s::text[]) AS given (table_name, version)
     CROSS JOIN LATERAL (
         SELECT partition.partition, partition.done_at IS NOT NULL AS done, partition.stale_since IS NOT NULL AS stale,
                lag(partition.partition) OVER (ORDER BY partition.partition) AS before
         FROM partition LEFT JOIN job ON job.id = partition.job
         WHERE partition.table_name = given.table_name AND partition.version = given.version
           AND partition.partition BETWEEN %(first)s AND %(last)s
           AND (partition.done_at IS NOT NULL OR job.state IN ({_LIVE}))) held
GROUP BY given.table_name
"""
# Existing partitions of several jobs are in one run, if all or none of them are stale. Missing partitions are
# divided by the state of their jobs.
_RUNS = f"""
SELECT min(partition) AS first, max(partition) AS last, bool_and(done) AS done, bool_and(stale) AS stale,
       max(done_at) AS since,
       min(app) AS app, min(key) AS key, min(state) AS state, count(DISTINCT coalesce(job, 0)) AS makers
FROM (
    SELECT partition.partition, job.id AS job, job.app, job.key, job.state, done_at, done_at IS NOT NULL AS done,
           done_at IS NOT NULL AND stale_since IS NOT NULL AS stale,
           partition.partition - row_number() OVER (
               PARTITION BY done_at IS NULL, done_at IS NOT NULL AND stale_since IS NOT NULL,
                            CASE WHEN done_at IS NULL THEN job.state END
               ORDER BY partition.partition) AS island
    FROM partition LEFT JOIN job ON job.id = partition.job
    WHERE {_OF_TABLE} AND partition.partition BETWEEN %(first)s AND %(last)s) each
GROUP BY done, stale, CASE WHEN NOT done THEN state END, island ORDER BY 1 LIMIT %(limit)s
"""


#: SQL that counts the existing partitions that are stale.
STALE = "count(*) FILTER (WHERE partition.done_at IS NOT NULL AND partition.stale_since IS NOT NULL)"


class CellCounts(Struct, frozen=True):
    """Numbers of partitions in a cell of a grid, by state, and of existing stale partitions."""

    states: Mapping[State, int]
    stale: int = 0

    def with_state(self, state: State, count: int, stale: int) -> "CellCounts":
        """Return the counts with another state, and the stale partitions among those in it."""
        return CellCounts({**self.states, state: count}, self.stale + stale)


class TableVersion(NamedTuple):
    """Table in a version."""

    table: str
    version: str


class Makers(Struct, frozen=True):
    """Owners of some partitions: ``jobs`` in the order of the partitions, and the number that ``landed`` from
    elsewhere."""

    jobs: list[JobName]
    landed: int


class Holding(Struct, frozen=True):
    """Range of a table from the first to the last partition that exists or is under way. ``stale`` is the number of
    stale ones among those that exist (``there``), and ``holes`` the number of gaps in the range."""

    table: str
    span: Span
    there: int
    stale: int
    under_way: int
    holes: int

    @property
    def missing(self) -> int:
        return len(self.span) - self.there - self.under_way


class PartitionRun(Struct, frozen=True):
    """Consecutive partitions that all exist (the last one since ``since``), or that are all missing. Existing ones are
    all ``stale`` or all not.

    Of missing partitions, the jobs that make or made them are all in one ``state``. ``makers`` is the number of jobs;
    if it is 1, ``app`` and ``key`` name the job. Without a job, the partitions landed from elsewhere.
    """

    first: int
    last: int
    done: bool
    stale: bool
    since: datetime | None
    app: str | None
    key: str | None
    state: State | None
    makers: int


def makers(tx: Tx, place: TableVersion, span: Span, *, limit: int) -> Makers:
    """Return the jobs that own or last owned these partitions, at most ``limit``."""
    rows = tx.rows(_MAKERS, table=place.table, version=place.version, **span._asdict(), limit=limit)
    return Makers(
        jobs=[JobName(app, key) for app, key, _ in rows if app is not None],
        landed=sum(count for app, _, count in rows if app is None),
    )


def done(tx: Tx, job: int) -> list[Span]:
    """Return the existing partitions of a job."""
    return [Span(*row) for row in tx.rows(_DONE, job=job)]


def holdings(tx: Tx, places: Sequence[TableVersion], within: Span) -> dict[str, Holding]:
    """Return the holding of each table. A table of which nothing exists or is under way is left out."""
    rows = tx.rows(_HOLDINGS, **arrays(places, "tables", "versions"), **within._asdict())
    return {table: Holding(table, Span(first, last), *counts) for table, first, last, *counts in rows}


def runs(tx: Tx, place: TableVersion, within: Span, *, limit: int) -> list[PartitionRun]:
    """Return the runs in order, at most ``limit``."""
    return tx.structs(
        PartitionRun, _RUNS, table=place.table, version=place.version, **within._asdict(), limit=limit
    )
