"""Partitions: which are there, and whose it is to make the others.

What holds: a partition of a table in a version belongs to one job at a time. It changes hands only in a plan, and only
when it is there and is to be made anew, or when its job is dead. Whoever plans for a table, or lands a partition of
it, takes his turn first (``take_turns``): so between what he reads here and his commit nobody else claims a
partition, and a landing is seen either by the plan or by the job that the plan has left standing for it.

Who races whom otherwise: a plan against the end of a job that it joins (see ``join``); a worker that acknowledges a
partition against the one who takes its job over, whom the claim's number tells apart. What a crash leaves:
acknowledged partitions, which stay, and others that belong to a dead job, which are the next plan's.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from sluice.jobs.calendar import Span
from sluice.jobs.coverage import Extent, Held
from sluice.jobs.known import Known
from sluice.jobs.plan import Wish
from sluice.jobs.ref import Claim
from sluice.jobs.states import LAND, LIVE, By, State, sql_list
from sluice.jobs.submission import SubmissionState
from sluice.ledger.connection import Tx, arrays
from sluice.ledger.sql import NOW, move
from sluice.ledger.submissions import owe

_LIVE = sql_list(*sorted(LIVE))
#: Marks these locks among others of the same database.
_TURNS = 5_318_010

_TAKE_TURN = """
SELECT pg_advisory_xact_lock(%(turns)s, hashtext(place)) FROM unnest(%(places)s::text[]) AS each (place)
"""
_OF_TABLE = "partition.place = %(place)s AND partition.version = %(version)s"
# Runs of the same fate: where the number of a partition less its rank among its like stays the same, they are in a row.
_HELD = f"""
SELECT min(run.partition), max(run.partition), job.id, job.app, job.key, job.state
FROM (
    SELECT partition, maker, partition - row_number() OVER (PARTITION BY maker ORDER BY partition) AS island
    FROM (
        SELECT partition.partition, CASE WHEN partition.done_at IS NULL THEN partition.job END AS maker
        FROM partition LEFT JOIN job ON job.id = partition.job
        WHERE {_OF_TABLE} AND partition.partition BETWEEN %(first)s AND %(last)s
          AND (partition.done_at IS NOT NULL OR job.state IN ({_LIVE}))
    ) held
) run LEFT JOIN job ON job.id = run.maker
GROUP BY run.maker, run.island, job.id ORDER BY 1
"""
_EXTENT = f"""
SELECT min(partition.partition), max(partition.partition) FILTER (WHERE partition.done_at IS NOT NULL)
FROM partition LEFT JOIN job ON job.id = partition.job
WHERE {_OF_TABLE} AND (partition.done_at IS NOT NULL OR job.state IN ({_LIVE}))
"""
_CLAIM = f"""
INSERT INTO partition (place, version, partition, job)
SELECT %(place)s, %(version)s, each, step.job
FROM unnest(%(first)s::int[], %(last)s::int[], %(job)s::bigint[]) AS step (first, last, job),
     generate_series(step.first, step.last) AS each
ORDER BY each
ON CONFLICT (place, version, partition) DO UPDATE SET job = excluded.job, done_at = NULL
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
INSERT INTO partition (place, version, partition, done_at)
SELECT %(place)s, %(version)s, each, {NOW} FROM unnest(%(partitions)s::int[]) AS given (each) ORDER BY each
ON CONFLICT (place, version, partition) DO UPDATE SET done_at = excluded.done_at WHERE partition.done_at IS NULL
"""
#: What a job that has been moved has still to make; null where it makes no partitions.
LEFT = """
CASE WHEN place IS NOT NULL THEN
    ARRAY(SELECT partition.partition FROM partition WHERE partition.job = moved.id AND done_at IS NULL ORDER BY 1)
END
"""
_AWAITED = f"SELECT id, key FROM job WHERE app = %(app)s AND state = '{State.EXPECTED}'"
_LAND_JOBS = move(LAND, By.PLANNER)

_IS_AWAITED = f"""
(need.settled IS NULL OR need.condition = 'running')
AND job.state IN ({_LIVE}) AND job.state <> '{State.EXPECTED}'
"""
# Upwards from the jobs that are joined, whoever has to end well for them, or to go on running.
_WITH_ANCESTORS = f"""
WITH RECURSIVE up (id) AS (
    SELECT unnest(%(jobs)s::bigint[])
    UNION
    SELECT need.parent FROM up JOIN need ON need.child = up.id JOIN job ON job.id = need.parent
    WHERE {_IS_AWAITED}
)
SELECT id FROM up
"""
# Of dead jobs that begin anew others may want some still: they want what these wait for now.
_WANT_ALONG = f"""
WITH RECURSIVE up (submission, id) AS (
    SELECT wants.submission, wants.job FROM wants JOIN submission ON submission.number = wants.submission
    WHERE wants.job = ANY(%(jobs)s) AND submission.state = '{SubmissionState.ACTIVE}'
    UNION
    SELECT up.submission, need.parent FROM up JOIN need ON need.child = up.id JOIN job ON job.id = need.parent
    WHERE {_IS_AWAITED}
)
INSERT INTO wants (submission, job, wish)
SELECT submission, id, {Wish.PULLED:d} FROM up ORDER BY submission, id
ON CONFLICT (submission, job) DO NOTHING
"""
# Those that will be written first: a share lock that has to grow invites a deadlock.
_HOLD_PAUSED = "SELECT id FROM job WHERE id = ANY(%(jobs)s) AND paused ORDER BY id FOR UPDATE"
_HOLD = "SELECT id, state, paused FROM job WHERE id = ANY(%(jobs)s) ORDER BY id FOR SHARE"


class Step(Struct, frozen=True):
    """The partitions that a job is to make."""

    job: int
    span: Span


class Joined(NamedTuple):
    """Jobs of others that a plan waits for, and those of them that are paused."""

    jobs: list[int]
    paused: list[int]


def take_turns(tx: Tx, places: Iterable[str]) -> None:
    """Until this transaction ends nobody else plans for these tables, or lands a partition of one."""
    tx.rows(_TAKE_TURN, turns=_TURNS, places=sorted(places))


class Tables(Struct, frozen=True):
    """What the ledger knows of tables, for plans."""

    tx: Tx

    def held(self, table: str, version: str, within: Span) -> list[Held]:
        rows = self.tx.rows(_HELD, place=table, version=version, first=within.first, last=within.last)
        return [
            Held(Span(first, last), Known(id, app, key, State(state)) if id else None)
            for first, last, id, app, key, state in rows
        ]

    def extent(self, table: str, version: str) -> Extent:
        first, last = self.tx.rows(_EXTENT, place=table, version=version)[0]
        return Extent(first, last)


def claim(tx: Tx, place: str, version: str, steps: Sequence[Step]) -> None:
    """Give the partitions of these steps to their jobs. Whoever planned them has taken his turn and found them free."""
    columns = arrays([(*step.span, step.job) for step in steps], "first", "last", "job")
    claimed = tx.write(_CLAIM, place=place, version=version, **columns)
    if claimed != sum(len(step.span) for step in steps):
        raise AssertionError(f"partitions of {place} were given away that somebody is making")


def made(tx: Tx, jobs: list[int]) -> None:
    """These jobs have succeeded: what was theirs to make is there."""
    tx.write(_MADE, jobs=jobs)


def withdraw(tx: Tx, jobs: list[int]) -> None:
    """What these jobs have made is undone: it is there no more, and whoever plans for it next has it made."""
    tx.write(_WITHDRAW, jobs=jobs)


def acknowledge(tx: Tx, right: Claim, partition: int) -> bool:
    """One partition of a running job is there, whatever becomes of the rest; False where the claim is lost, or the
    partition is not its own to make."""
    return tx.write(_ACKNOWLEDGE, job=right.job, claim=right.number, partition=partition) == 1


def land(tx: Tx, place: str, version: str, partitions: Sequence[int]) -> int:
    """These came from elsewhere; how many of them were not there before."""
    return tx.write(_LAND, place=place, version=version, partitions=[*partitions])


def awaited(tx: Tx, table: str) -> dict[int, str]:
    """The jobs that stand for partitions of this table which have not landed, each with its key."""
    return dict(tx.rows(_AWAITED, app=table))


def land_jobs(tx: Tx, jobs: list[int]) -> list[int]:
    """What these jobs stand for has landed; their children are owed the news."""
    landed = tx.column(_LAND_JOBS, jobs=jobs)
    owe(tx, landed)
    return landed


def want_along(tx: Tx, jobs: list[int]) -> None:
    """These jobs were dead and begin anew: whoever wants one of them still wants all that it waits for now."""
    if jobs:
        tx.write(_WANT_ALONG, jobs=jobs)


def join(tx: Tx, jobs: list[int]) -> Joined | None:
    """Hold these living jobs, and all those that they wait for; None where one is dead by now.

    Whoever cancels them has held them before he looks who wants them: either he finds them wanted, or we find them
    cancelled, and the plan is made anew.
    """
    if not jobs:
        return Joined([], [])
    closure = tx.column(_WITH_ANCESTORS, jobs=jobs)
    tx.rows(_HOLD_PAUSED, jobs=closure)
    held = tx.rows(_HOLD, jobs=closure)
    living = {id for id, state, _ in held if State(state) in LIVE}
    return Joined(closure, [id for id, _, paused in held if paused]) if living.issuperset(jobs) else None
