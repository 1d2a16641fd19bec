"""Partitions of a submission's tables: how many of each stretch are in each state. The database counts them, however
many there are.

``jobs_by_day`` counts the jobs of apps that have a date in their keys (``DatedKeys``), and ``newest_by_day`` the jobs
of all submissions.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from sluice.jobs.keys.calendar import Span
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.state_ranges import newest
from sluice.ledger.reads.by_partition.table_partitions import STALE, CellCounts, TableVersion
from sluice.ledger.stats.state_counts import SIDES

# The jobs of a submission determine its partitions. Partitions of dead jobs may have been taken over by another
# submission.
_EXTENTS = """
SELECT job.app, partition.table_name, partition.version, min(partition.partition), max(partition.partition)
FROM submission_job JOIN submission ON submission.number = submission_job.submission
    JOIN job ON job.id = submission_job.job
     JOIN partition ON partition.job = job.id
WHERE submission.id = %(id)s AND job.output_table IS NOT NULL
GROUP BY job.app, partition.table_name, partition.version ORDER BY job.app
"""
_CELLS = f"""
SELECT width_bucket(partition.partition, %(begins)s::int[]) - 1,
       CASE WHEN partition.done_at IS NOT NULL THEN '{State.SUCCEEDED}' ELSE job.state END AS state, count(*),
       {STALE}
FROM partition LEFT JOIN job ON job.id = partition.job
WHERE partition.table_name = %(table)s AND partition.version = %(version)s
  AND partition.partition BETWEEN %(first)s AND %(last)s
  AND (partition.done_at IS NOT NULL OR job.state IS NOT NULL)
GROUP BY 1, 2 ORDER BY 1, 2
"""


_JOBS_BY_DAY = """
SELECT job.app, split_part(job.key, given.delimiter, given.place), job.state, count(*)
FROM submission JOIN submission_job ON submission_job.submission = submission.number
     JOIN job ON job.id = submission_job.job
     JOIN unnest(%(apps)s::text[], %(delimiters)s::text[], %(places)s::int[]) AS given (app, delimiter, place)
          ON given.app = job.app
WHERE submission.id = %(id)s GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""
# By app and state, because indexes have the jobs of these.
_NEWEST_BY_DAY = f"""
SELECT given.app, split_part(job.key, given.delimiter, given.place), job.state, count(*)
FROM unnest(%(apps)s::text[], %(delimiters)s::text[], %(places)s::int[]) AS given (app, delimiter, place)
     CROSS JOIN LATERAL (SELECT DISTINCT side.state FROM ({SIDES}) side WHERE side.app = given.app) kind
     CROSS JOIN LATERAL ({newest("given.app", "kind.state", limit="%(limit)s")}) job
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""


class DatedKeys(NamedTuple):
    """App with a date in its keys: the text between the identifiers, and the place of the date, counted from 1."""

    app: str
    delimiter: str
    place: int


class AppRange(Struct, frozen=True):
    """App that takes part in a submission, with its first and last partition in it."""

    app: str
    place: TableVersion
    span: Span


def extents(tx: Tx, id: str) -> list[AppRange]:
    """Return the extent of each app. An app of which all partitions existed before is left out."""
    return [
        AppRange(app, TableVersion(table, version), Span(first, last))
        for app, table, version, first, last in tx.rows(_EXTENTS, id=id)
    ]


def cells(tx: Tx, place: TableVersion, span: Span, begins: Sequence[int]) -> Sequence[CellCounts]:
    """Return the number of partitions in each state and of stale ones, between each of ``begins`` and the next.

    ``begins`` are sorted. Existing partitions count as succeeded. Partitions that were never requested have no state
    and are not counted.
    """
    found = [CellCounts({}) for _ in begins]
    rows = tx.rows(_CELLS, table=place.table, version=place.version, **span._asdict(), begins=[*begins])
    for cell, state, count, stale in rows:
        found[cell] = found[cell].with_state(State(state), count, stale)
    return found


def jobs_by_day(tx: Tx, id: str, apps: Sequence[DatedKeys]) -> dict[str, dict[str, dict[State, int]]]:
    """Return the number of the submission's jobs in each state, by app and by the text of the day in the key."""
    told = arrays(apps, "apps", "delimiters", "places")
    return _by_day(tx.rows(_JOBS_BY_DAY, id=id, **told) if apps else [])


def newest_by_day(tx: Tx, apps: Sequence[DatedKeys], *, limit: int) -> dict[str, dict[str, dict[State, int]]]:
    """Return the number of jobs in each state, by app and by the text of the day in the key. Of each app and state at
    most the newest ``limit`` jobs are counted."""
    told = arrays(apps, "apps", "delimiters", "places")
    return _by_day(tx.rows(_NEWEST_BY_DAY, limit=limit, **told) if apps else [])


def _by_day(rows: Iterable[tuple[str, str, str, int]]) -> dict[str, dict[str, dict[State, int]]]:
    found: dict[str, dict[str, dict[State, int]]] = {}
    for app, day, state, count in rows:
        found.setdefault(app, {}).setdefault(day, {})[State(state)] = count
    return found
