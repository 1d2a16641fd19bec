"""Partitions: which exist, and which job has to make each missing one.

Invariant: a partition of a table in a version belongs to one job at a time. It passes to another job only in a plan,
either because it exists and must be made again, or because its job is dead. Each transaction that plans for a table or
lands a partition of it first takes that table's lock (``lock_tables``). So no other transaction claims a partition
between its reads and its commit. A landing is seen either by the plan, or by the placeholder job that the plan created.

Other races: for a plan against the end of a job that it joins, see ``join``. If a worker acknowledges a partition while
another worker takes over its job, the number of the claim decides. A crash leaves acknowledged partitions, which stay,
and a dead job's unfinished partitions, which the next plan may claim.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from sluice.jobs.keys.calendar import Span
from sluice.jobs.model.names import Claim
from sluice.jobs.model.partition_state import HeldRange, KnownExtent
from sluice.jobs.model.plan import KnownJob, RequestReason
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import LIVE, MARK_LANDED, By, State, sql_list
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.transitions import NOW, move
from sluice.ledger.job_graph.dependencies import add_to_outbox

_LIVE = sql_list(*sorted(LIVE))
#: First key of the advisory locks by table; it distinguishes them from other locks in the same database.
_TURNS = 5_318_010

_TAKE_TURN = """
SELECT pg_advisory_xact_lock(%(turns)s, hashtext(table_name)) FROM unnest(%(tables)s::text[]) AS each (table_name)
"""
OF_TABLE = "partition.table_name = %(table)s AND partition.version = %(version)s"
# Group consecutive partitions with the same maker: within a run, the partition number minus its rank is constant.
_HELD = f"""
SELECT min(run.partition), max(run.partition), run.stale, job.id, job.app, job.key, job.state
FROM (
    SELECT partition, maker, stale,
           partition - row_number() OVER (PARTITION BY maker, stale ORDER BY partition) AS island
    FROM (
        SELECT partition.partition, partition.stale_since IS NOT NULL AS stale,
               CASE WHEN partition.done_at IS NULL THEN partition.job END AS maker
        FROM partition LEFT JOIN job ON job.id = partition.job
        WHERE {OF_TABLE} AND partition.partition BETWEEN %(first)s AND %(last)s
          AND CASE WHEN partition.done_at IS NULL THEN job.state IN ({_LIVE})
                   ELSE %(with_stale)s OR partition.stale_since IS NULL END
    ) held
) run LEFT JOIN job ON job.id = run.maker
GROUP BY run.maker, run.stale, run.island, job.id ORDER BY 1
"""
_EXTENT = f"""
SELECT min(partition.partition),
       max(partition.partition) FILTER (WHERE partition.done_at IS NOT NULL AND partition.stale_since IS NULL)
FROM partition LEFT JOIN job ON job.id = partition.job
WHERE {OF_TABLE} AND (partition.done_at IS NOT NULL OR job.state IN ({_LIVE}))
"""
_CLAIM = f"""
INSERT INTO partition (table_name, version, partition, job, stale_since)
SELECT %(table)s, %(version)s, each, step.job, CASE WHEN step.stale THEN {NOW} END
FROM unnest(%(first)s::int[], %(last)s::int[], %(job)s::bigint[], %(stale)s::bool[]) AS step (first, last, job, stale),
     generate_series(step.first, step.last) AS each
ORDER BY each
ON CONFLICT (table_name, version, partition)
DO UPDATE SET job = excluded.job, done_at = NULL, stale_since = excluded.stale_since
WHERE partition.done_at IS NOT NULL
   OR NOT EXISTS (SELECT 1 FROM job WHERE job.id = partition.job AND job.state IN ({_LIVE}) AND job.id <> excluded.job)
"""
_MADE = f"UPDATE partition SET done_at = {NOW} WHERE job = ANY(%(jobs)s) AND done_at IS NULL"
_WITHDRAW = "UPDATE partition SET done_at = NULL WHERE job = ANY(%(jobs)s)"
_ACKNOWLEDGE = f"""
WITH held AS MATERIALIZED (
    SELECT id FROM job WHERE id = %(job)s AND claim = %(claim)s AND state = '{State.RUNNING}' FOR SHARE
)
UPDATE partition SET done_at = coalesce(done_at, {NOW})
FROM held WHERE partition.job = held.id AND partition.partition = %(partition)s
"""
_LAND = f"""
INSERT INTO partition (table_name, version, partition, done_at)
SELECT %(table)s, %(version)s, each, {NOW} FROM unnest(%(partitions)s::int[]) AS given (each) ORDER BY each
ON CONFLICT (table_name, version, partition)
DO UPDATE SET done_at = excluded.done_at, stale_since = NULL WHERE partition.done_at IS NULL
"""
_LAND_AGAIN = f"""
UPDATE partition SET done_at = {NOW}, begun_at = NULL, stale_since = NULL
WHERE {OF_TABLE} AND partition = ANY(%(partitions)s) AND done_at IS NOT NULL RETURNING partition
"""
_MARK_STALE = f"""
UPDATE partition SET stale_since = {NOW} FROM unnest(%(first)s::int[], %(last)s::int[]) AS span (first, last)
WHERE {OF_TABLE} AND partition.partition BETWEEN span.first AND span.last
"""
#: SQL array of the partitions that a moved job still has to make; null if the job makes no partitions.
LEFT = """
CASE WHEN output_table IS NOT NULL THEN
    ARRAY(SELECT partition.partition FROM partition WHERE partition.job = moved.id AND done_at IS NULL ORDER BY 1)
END
"""
_AWAITED = f"SELECT id, key FROM job WHERE app = %(app)s AND state = '{State.EXPECTED}'"
_MARK_LANDED = move(MARK_LANDED, By.PLANNER)

_IS_AWAITED = f"""
(need.met IS NULL OR need.condition = 'running')
AND job.state IN ({_LIVE}) AND job.state <> '{State.EXPECTED}'
"""
# All jobs upstream of the joined jobs that must succeed, or keep running, before the joined jobs can proceed.
_WITH_ANCESTORS = f"""
WITH RECURSIVE up (id) AS (
    SELECT unnest(%(jobs)s::bigint[])
    UNION
    SELECT need.parent FROM up JOIN need ON need.child = up.id JOIN job ON job.id = need.parent
    WHERE {_IS_AWAITED}
)
SELECT id FROM up
"""
# Rerun jobs may still be requested by active submissions. These submissions also request all jobs that the rerun
# jobs now wait for.
_WANT_ALONG = f"""
WITH RECURSIVE up (submission, id) AS (
    SELECT submission_job.submission, submission_job.job FROM submission_job
        JOIN submission ON submission.number = submission_job.submission
    WHERE submission_job.job = ANY(%(jobs)s) AND submission.state = '{SubmissionState.ACTIVE}'
    UNION
    SELECT up.submission, need.parent FROM up JOIN need ON need.child = up.id JOIN job ON job.id = need.parent
    WHERE {_IS_AWAITED}
)
INSERT INTO submission_job (submission, job, request_reason)
SELECT submission, id, {RequestReason.PULLED:d} FROM up ORDER BY submission, id
ON CONFLICT (submission, job) DO NOTHING
"""
# Lock rows that will be written FOR UPDATE from the start: upgrading a share lock invites a deadlock.
_HOLD_PAUSED = "SELECT id FROM job WHERE id = ANY(%(jobs)s) AND paused ORDER BY id FOR UPDATE"
_HOLD = "SELECT id, state, paused FROM job WHERE id = ANY(%(jobs)s) ORDER BY id FOR SHARE"


# Jobs that may have read their inputs. External work and a saga continue after their worker is lost.
_HOLD_AND_TELL_BEGUN = f"""
SELECT id, state IN ({sql_list(State.RUNNING, State.EXECUTED, State.SUSPENDED)}) OR handle IS NOT NULL OR saga_open
FROM job WHERE id = ANY(%(jobs)s) ORDER BY id FOR SHARE
"""


class PartitionStep(Struct, frozen=True):
    """Partitions that a job has to make. ``stale``: they will be stale, because the job waits for stale ones."""

    job: int
    span: Span
    stale: bool = False


class Joined(NamedTuple):
    """Jobs of other plans that a plan waits for, and the paused ones among them."""

    jobs: list[int]
    paused: list[int]


def lock_tables(tx: Tx, tables: Iterable[str]) -> None:
    """Lock these tables until the transaction ends, so that no other transaction plans for them or lands partitions."""
    tx.rows(_TAKE_TURN, turns=_TURNS, tables=sorted(tables))


class LedgerTables(Struct, frozen=True):
    """Read access to the partitions in the ledger, for plans."""

    tx: Tx

    def held(self, table: str, version: str, within: Span) -> list[HeldRange]:
        return self._read(table, version, within, with_stale=False)

    def existing(self, table: str, version: str, within: Span) -> list[HeldRange]:
        return self._read(table, version, within, with_stale=True)

    def _read(self, table: str, version: str, within: Span, *, with_stale: bool) -> list[HeldRange]:
        rows = self.tx.rows(_HELD, table=table, version=version, **within._asdict(), with_stale=with_stale)
        return [
            HeldRange(Span(first, last), KnownJob(id, app, key, State(state)) if id else None, stale)
            for first, last, stale, id, app, key, state in rows
        ]

    def extent(self, table: str, version: str) -> KnownExtent:
        first, last = self.tx.rows(_EXTENT, table=table, version=version)[0]
        return KnownExtent(first, last)


def claim(tx: Tx, table: str, version: str, steps: Sequence[PartitionStep]) -> None:
    """Assign the partitions of these steps to their jobs. The caller holds the table's lock and found them free."""
    columns = arrays([(*step.span, step.job, step.stale) for step in steps], "first", "last", "job", "stale")
    claimed = tx.write(_CLAIM, table=table, version=version, **columns)
    if claimed != sum(len(step.span) for step in steps):
        raise AssertionError(f"partitions of {table} were assigned again while a job makes them")


def made(tx: Tx, jobs: list[int]) -> None:
    """Mark the partitions of these succeeded jobs as made."""
    tx.write(_MADE, jobs=jobs)


def withdraw(tx: Tx, jobs: list[int]) -> None:
    """Mark the partitions of these undone jobs as missing. The next plan has them made again."""
    tx.write(_WITHDRAW, jobs=jobs)


def acknowledge(tx: Tx, right: Claim, partition: int) -> bool:
    """Mark one partition of a running job as made, even if the job fails later. Return False if the claim is lost, or
    if the partition does not belong to the job."""
    return tx.write(_ACKNOWLEDGE, job=right.job, claim=right.number, partition=partition) == 1


def land(tx: Tx, table: str, version: str, partitions: Sequence[int]) -> int:
    """Mark partitions that were made elsewhere as existing. Return how many of them were missing before."""
    return tx.write(_LAND, table=table, version=version, partitions=[*partitions])


def land_again(tx: Tx, table: str, version: str, partitions: Sequence[int]) -> list[int]:
    """Mark the existing ones of these partitions as made now, elsewhere, and return them."""
    return tx.column(_LAND_AGAIN, table=table, version=version, partitions=[*partitions])


def hold_waiting(tx: Tx, jobs: list[int]) -> set[int]:
    """Lock these jobs, and return those that have not begun: they will read the current contents of their inputs.

    A claim that is not committed yet is waited for. A claim after this transaction is later than the landing.
    """
    return {id for id, has_begun in tx.rows(_HOLD_AND_TELL_BEGUN, jobs=jobs) if not has_begun}


def mark_stale(tx: Tx, table: str, version: str, spans: Sequence[Span]) -> int:
    """Mark these partitions, which exist or are under way, as stale. Return their number."""
    return tx.write(_MARK_STALE, table=table, version=version, **arrays(spans, "first", "last"))


def awaited(tx: Tx, table: str) -> dict[int, str]:
    """Return the placeholder jobs of this table's partitions that have not landed, with their keys."""
    return dict(tx.rows(_AWAITED, app=table))


def land_jobs(tx: Tx, jobs: list[int]) -> list[int]:
    """Mark the partitions of these placeholder jobs as landed. Their ends go to the propagation outbox."""
    landed = tx.column(_MARK_LANDED, jobs=jobs)
    add_to_outbox(tx, landed)
    return landed


def extend_requests(tx: Tx, jobs: list[int]) -> None:
    """Let the submissions that still request these rerun jobs also request every job that they now wait for."""
    if jobs:
        tx.write(_WANT_ALONG, jobs=jobs)


def join(tx: Tx, jobs: list[int]) -> Joined | None:
    """Lock these live jobs and all jobs that they wait for. Return None if any of them is dead by now.

    A cancellation locks the jobs before it reads which submissions request them. Either it finds them requested, or
    this transaction finds them cancelled and the caller plans again.
    """
    if not jobs:
        return Joined([], [])
    closure = tx.column(_WITH_ANCESTORS, jobs=jobs)
    tx.rows(_HOLD_PAUSED, jobs=closure)
    held = tx.rows(_HOLD, jobs=closure)
    living = {id for id, state, _ in held if State(state) in LIVE}
    return Joined(closure, [id for id, _, paused in held if paused]) if living.issuperset(jobs) else None
