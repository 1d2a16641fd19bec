"""The partitions of tables: which are there, who makes the others, and which of a job's are there already."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from sluice.jobs.calendar import Span
from sluice.jobs.ref import JobName
from sluice.jobs.states import LIVE, State, sql_list
from sluice.ledger.connection import Tx, arrays

_LIVE = sql_list(*sorted(LIVE))

_OF_TABLE = "partition.place = %(place)s AND partition.version = %(version)s"
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
# A partition that belongs to a dead job and is not there is anybody's to make: it is missing.
_HOLDINGS = f"""
SELECT given.place, min(held.partition), max(held.partition), count(*) FILTER (WHERE held.done),
       count(*) FILTER (WHERE NOT held.done), count(*) FILTER (WHERE held.partition > held.before + 1)
FROM unnest(%(places)s::text[], %(versions)s::text[]) AS given (place, version)
     CROSS JOIN LATERAL (
         SELECT partition.partition, partition.done_at IS NOT NULL AS done,
                lag(partition.partition) OVER (ORDER BY partition.partition) AS before
         FROM partition LEFT JOIN job ON job.id = partition.job
         WHERE partition.place = given.place AND partition.version = given.version
           AND partition.partition BETWEEN %(first)s AND %(last)s
           AND (partition.done_at IS NOT NULL OR job.state IN ({_LIVE}))) held
GROUP BY given.place
"""
# What is there stands together whoever made it; what is not, by the state of the jobs that are to make it, or were.
_RUNS = f"""
SELECT min(partition) AS first, max(partition) AS last, bool_and(done) AS done, max(done_at) AS since,
       min(app) AS app, min(key) AS key, min(state) AS state, count(DISTINCT coalesce(job, 0)) AS makers
FROM (
    SELECT partition.partition, job.id AS job, job.app, job.key, job.state, done_at, done_at IS NOT NULL AS done,
           partition.partition - row_number() OVER (
               PARTITION BY done_at IS NULL, CASE WHEN done_at IS NULL THEN job.state END
               ORDER BY partition.partition) AS island
    FROM partition LEFT JOIN job ON job.id = partition.job
    WHERE {_OF_TABLE} AND partition.partition BETWEEN %(first)s AND %(last)s) each
GROUP BY done, CASE WHEN NOT done THEN state END, island ORDER BY 1 LIMIT %(limit)s
"""


class Place(NamedTuple):
    """A table in a version."""

    table: str
    version: str


class Makers(Struct, frozen=True):
    """Whose some partitions are: ``jobs`` in the order of these, and how many ``landed`` from elsewhere."""

    jobs: list[JobName]
    landed: int


class Holding(Struct, frozen=True):
    """A table from the first partition that is there or under way to the last; ``holes`` is how often some are missing
    between them."""

    table: str
    span: Span
    there: int
    under_way: int
    holes: int

    @property
    def missing(self) -> int:
        return len(self.span) - self.there - self.under_way


class Run(Struct, frozen=True):
    """Partitions in a row, all there (``since`` at the latest), or none, and then those who are to make them, or were,
    are all in one ``state``. One that is the only one is named; without a job they landed. ``makers`` counts them."""

    first: int
    last: int
    done: bool
    since: datetime | None
    app: str | None
    key: str | None
    state: State | None
    makers: int


def makers(tx: Tx, place: Place, span: Span, *, limit: int) -> Makers:
    """Whose these partitions are, or were last; at most so many jobs."""
    rows = tx.rows(_MAKERS, place=place.table, version=place.version, **span._asdict(), limit=limit)
    return Makers(
        jobs=[JobName(app, key) for app, key, _ in rows if app is not None],
        landed=sum(count for app, _, count in rows if app is None),
    )


def done(tx: Tx, job: int) -> list[Span]:
    """Those of a job's own partitions that are there."""
    return [Span(*row) for row in tx.rows(_DONE, job=job)]


def holdings(tx: Tx, places: Sequence[Place], within: Span) -> dict[str, Holding]:
    """By table; one of which nothing is there or under way is not among them."""
    rows = tx.rows(_HOLDINGS, **arrays(places, "places", "versions"), **within._asdict())
    return {
        table: Holding(table, Span(first, last), there, under_way, holes)
        for table, first, last, there, under_way, holes in rows
    }


def runs(tx: Tx, place: Place, within: Span, *, limit: int) -> list[Run]:
    """In order, and at most so many."""
    return tx.structs(Run, _RUNS, place=place.table, version=place.version, **within._asdict(), limit=limit)
