"""Days of tables that are made by jobs with keys: all jobs of an app of one day together make the day's partition.

The row of such a partition names no job. ``contents`` identifies the runs that made it: it is a hash of the jobs and
the claims of their successes. The end of a job may be reported repeatedly: as long as the jobs have the recorded
contents, the day is up to date. Other contents mean that a job has run again, or that the day has other jobs than
before.

Other transactions may change a day at the same time: jobs of it end, or run again. Each such end is reported after its
commit, and a report takes the table's lock before it reads. So the last report finds all jobs as they ended.

A crash leaves the report in the propagation outbox, and it is repeated.

Jobs with keys may also read tables. No row marks such a job as stale: it is outdated if a partition that it reads has
changed since it began (``outdated``). If its day is complete, the day's row is marked as stale, too.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sluice.jobs.keys.calendar import Span
from sluice.jobs.model.names import JobName
from sluice.jobs.model.partition_state import HeldRange
from sluice.jobs.model.plan import KnownJob
from sluice.jobs.states import LIVE, State, sql_list
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.transitions import NOW
from sluice.ledger.keyspaces.partitions import OF_TABLE

_SUCCEEDED = f"""
SELECT app, key FROM job
WHERE id = ANY(%(jobs)s) AND app = ANY(%(apps)s::text[]) AND state = '{State.SUCCEEDED}' ORDER BY id
"""
#: Begin of a job's last run, also after its history was removed.
_BEGUN_AT = "coalesce(round.running_at, job.begun_at)"
_LAST_RUN = "round.job = job.id AND round.claim = coalesce(job.saga_first_claim, job.claim)"
_DAYS = f"""
SELECT given.day, max(job.changed_at), min({_BEGUN_AT}),
       hashtextextended(string_agg(job.id::text || ' ' || job.claim::text, ',' ORDER BY job.id), 0)
FROM unnest(%(app)s::text[], %(key)s::text[], %(day)s::int[]) AS given (app, key, day)
LEFT JOIN job ON job.app = given.app AND job.key = given.key AND job.state = '{State.SUCCEEDED}'
LEFT JOIN round ON {_LAST_RUN}
GROUP BY given.day HAVING count(*) = count(job.id) ORDER BY given.day
"""
_RECORDED = f"""
SELECT partition.partition, partition.contents FROM partition
WHERE {OF_TABLE} AND partition.partition = ANY(%(days)s::int[]) AND partition.done_at IS NOT NULL
"""
_RECORD = """
INSERT INTO partition (table_name, version, partition, done_at, begun_at, contents, stale_since)
SELECT %(table)s, %(version)s, day, done_at, begun_at, contents, stale_since
FROM unnest(%(day)s::int[], %(done_at)s::timestamptz[], %(begun_at)s::timestamptz[], %(contents)s::bigint[],
            %(stale_since)s::timestamptz[]) AS given (day, done_at, begun_at, contents, stale_since) ORDER BY day
ON CONFLICT (table_name, version, partition)
DO UPDATE SET done_at = excluded.done_at, begun_at = excluded.begun_at, contents = excluded.contents,
    stale_since = CASE WHEN excluded.stale_since IS NOT NULL
                       THEN coalesce(partition.stale_since, excluded.stale_since) END
"""
# Begin of the claim that made a partition. A partition that is older than the present claim was acknowledged by an
# earlier one.
_BEGUN = """
CASE WHEN partition.done_at < round.running_at THEN (
    SELECT max(earlier.running_at) FROM round earlier
    WHERE earlier.job = job.id AND earlier.running_at <= partition.done_at)
ELSE round.running_at END
"""
#: SQL that is true for a partition that was made from inputs as they were at a time, or later. A job that has not begun
#: will read them. External work and a saga continue after their worker is lost.
_IS_CURRENT = f"""
CASE WHEN job.id IS NULL THEN coalesce(partition.begun_at, partition.done_at) >= %(since)s
     WHEN job.state IN ({sql_list(*sorted(LIVE - {State.RUNNING, State.EXECUTED, State.SUSPENDED}))})
          AND partition.done_at IS NULL AND job.handle IS NULL AND NOT job.saga_open THEN true
     ELSE coalesce({_BEGUN} >= %(since)s, false) END
"""
_EXISTING = f"""
SELECT min(partition), max(partition), is_current FROM (
    SELECT partition, is_current, partition - row_number() OVER (PARTITION BY is_current ORDER BY partition) AS island
    FROM (
        SELECT partition.partition, {_IS_CURRENT} AS is_current
        FROM partition LEFT JOIN job ON job.id = partition.job
            LEFT JOIN round ON {_LAST_RUN}
        WHERE {OF_TABLE} AND partition.partition BETWEEN %(first)s AND %(last)s
          AND (partition.done_at IS NOT NULL OR job.state IN ({sql_list(*sorted(LIVE))}))
    ) told
) run GROUP BY is_current, island ORDER BY 1
"""
# A claim that is not committed yet is waited for. A claim after this transaction is later than the contents.
_HOLD_MAKERS = f"""
SELECT job.id FROM job WHERE id IN (
    SELECT partition.job FROM partition
    WHERE {OF_TABLE} AND partition.partition BETWEEN %(first)s AND %(last)s AND partition.done_at IS NULL)
ORDER BY job.id FOR SHARE
"""

#: Maker that ``existing`` returns for partitions that were made from current inputs.
CURRENT = KnownJob(0, "", "", State.SUCCEEDED)


# The rows of a table of days name no job, so a day that is marked as stale is compared with each of its jobs.
_OUTDATED = f"""
SELECT job.app, job.key, job.claim, min(coalesce(partition.stale_since, partition.done_at, {NOW}))
FROM unnest(%(app)s::text[], %(key)s::text[], %(table)s::text[], %(version)s::text[], %(first)s::int[],
            %(last)s::int[], %(own)s::bool[]) AS reading (app, key, table_name, version, first, last, own)
    JOIN job ON job.app = reading.app AND job.key = reading.key AND job.state = '{State.SUCCEEDED}'
    LEFT JOIN round ON {_LAST_RUN}
    JOIN partition ON partition.table_name = reading.table_name AND partition.version = reading.version
        AND partition.partition BETWEEN reading.first AND reading.last
WHERE CASE WHEN reading.own THEN partition.stale_since > {_BEGUN_AT}
           ELSE partition.stale_since IS NOT NULL OR coalesce(partition.done_at > {_BEGUN_AT}, true) END
GROUP BY job.id
"""


class JobReading(NamedTuple):
    """Partitions that a job with a key reads. ``own``: they are the day that the job itself takes part in."""

    job: JobName
    table: str
    version: str
    span: Span
    own: bool = False


class CompleteDay(NamedTuple):
    """A day of which all jobs have succeeded. ``since`` is the time of the last success, ``begun_at`` the first begin
    of a job."""

    day: int
    since: datetime
    begun_at: datetime
    contents: int


class OutdatedJob(NamedTuple):
    """A succeeded job that began before a partition that it reads changed: the claim of its success, and the time of
    the first such change."""

    claim: int
    since: datetime


def outdated(tx: Tx, readings: Iterable[JobReading]) -> dict[JobName, OutdatedJob]:
    """Return the jobs among these that have succeeded, and of which a partition has changed since they began. A job's
    own day has changed if it was marked as stale."""
    rows = [(*each.job, each.table, each.version, *each.span, each.own) for each in readings]
    if not rows:
        return {}
    columns = arrays(rows, "app", "key", "table", "version", "first", "last", "own")
    return {JobName(app, key): OutdatedJob(*found) for app, key, *found in tx.rows(_OUTDATED, **columns)}


def succeeded(tx: Tx, jobs: Collection[int], apps: Iterable[str]) -> list[JobName]:
    """Return the names of the jobs of these apps, among these jobs, that have succeeded."""
    return [JobName(app, key) for app, key in tx.rows(_SUCCEEDED, jobs=[*jobs], apps=[*apps])]


def changed(tx: Tx, table: str, version: str, days: Mapping[int, Sequence[JobName]]) -> list[CompleteDay]:
    """Return the days with other contents than recorded, of which all jobs have succeeded. The caller holds the table's
    lock. ``days`` has the jobs of each day."""
    rows = [(*name, day) for day, names in days.items() for name in names]
    complete = [CompleteDay(*row) for row in tx.rows(_DAYS, **arrays(rows, "app", "key", "day"))]
    recorded: dict[int, int | None] = dict(
        tx.rows(_RECORDED, table=table, version=version, days=[each.day for each in complete])
    )
    return [each for each in complete if recorded.get(each.day) != each.contents]


def record(
    tx: Tx, table: str, version: str, days: Sequence[CompleteDay], stale: Mapping[int, datetime]
) -> None:
    """Record that these days exist with these contents since the last success. The ``stale`` days were made from inputs
    that have changed at these times."""
    rows = [(each.day, each.since, each.begun_at, each.contents, stale.get(each.day)) for each in days]
    columns = arrays(rows, "day", "done_at", "begun_at", "contents", "stale_since")
    tx.write(_RECORD, table=table, version=version, **columns)


def hold_makers(tx: Tx, table: str, version: str, within: Span) -> None:
    """Lock the jobs that make partitions of this span, so that no claim of them is overlooked."""
    tx.rows(_HOLD_MAKERS, table=table, version=version, **within._asdict())


def existing(tx: Tx, table: str, version: str, within: Span, *, since: datetime) -> list[HeldRange]:
    """Return the partitions of this span that exist or are under way, in order.

    The maker of those that are made from inputs as they were at ``since``, or later, is ``CURRENT``. The others have
    none.
    """
    rows = tx.rows(_EXISTING, table=table, version=version, since=since, **within._asdict())
    return [HeldRange(Span(first, last), CURRENT if is_current else None) for first, last, is_current in rows]
