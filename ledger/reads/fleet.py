"""The workers, and who serves which queue."""

from collections.abc import Collection, Sequence
from datetime import datetime

from msgspec import Struct

from sluice.jobs.queues import ALL_APPS, CONTROL
from sluice.jobs.ref import JobName
from sluice.jobs.states import By, State
from sluice.ledger.connection import Tx
from sluice.ledger.sql import NOW

#: Of a queue's workers, and of what they run, so many are told.
TOLD_MAX = 20
#: Who has had room for so long takes what comes at once. Between one run and the next everybody has, for a moment.
IDLE_S = 2.0
#: So many of the last steps are looked through for those who have begun or ended a run since.
STEPS_MAX = 500

_ALIVE = f"worker.left_at IS NULL AND worker.lease_until > {NOW}"


def serves(queue: str) -> str:
    """Return the condition that the row ``worker`` serves a queue, which is an expression of SQL; as
    ``jobs.queues.is_served``."""
    of_apps = f"'{ALL_APPS}' = ANY(worker.queues) AND {queue} <> ALL('{{{','.join(CONTROL)}}}')"
    return f"(worker.queues = '{{}}' OR {queue} = ANY(worker.queues) OR ({of_apps}))"


_SERVES = serves("%(queue)s")
_RUNNING = f"(SELECT count(*) FROM job WHERE job.worker = worker.id AND job.state = '{State.RUNNING}')"

_WORKERS = f"""
SELECT worker.id::text, host, pid, queues, threads, code, started_at, lease_until, lease_until > {NOW} AS alive,
       {_RUNNING} AS running, catalogue AS definitions, definitions_at, definitions_problem
FROM worker WHERE left_at IS NULL AND (lease_until > {NOW} - interval '1 hour')
ORDER BY started_at
"""
_SERVED = f"SELECT count(*) FROM worker WHERE {_ALIVE} AND {_SERVES}"
_UNSERVED = f"""
SELECT queue FROM unnest(%(queues)s::text[]) WITH ORDINALITY AS asked (queue, place)
WHERE NOT EXISTS (SELECT 1 FROM worker WHERE {_ALIVE} AND {serves("queue")})
ORDER BY place
"""
# A few look-ups by key, however many jobs there are. Where more steps than these are taken within the time, none of
# those who take them is without a run for as long as it takes to take so many.
_IDLE = f"""
WITH stirring AS MATERIALIZED (
    SELECT DISTINCT round.worker FROM (
        SELECT job, claim, at, by FROM transition ORDER BY id DESC LIMIT {STEPS_MAX}) step
    JOIN round ON round.job = step.job AND round.claim = step.claim
    WHERE step.by = '{By.EXECUTOR}' AND step.at > {NOW} - make_interval(secs => {IDLE_S})
), idle AS MATERIALIZED (
    SELECT queues FROM worker WHERE {_ALIVE} AND threads > {_RUNNING} AND id NOT IN (SELECT worker FROM stirring)
)
SELECT app FROM unnest(%(apps)s::text[]) AS asked (app)
WHERE NOT EXISTS (SELECT 1 FROM app_pause WHERE app_pause.app = asked.app)
  AND EXISTS (SELECT 1 FROM idle AS worker WHERE {serves("asked.app")})
"""
_AT_WORK = f"""
SELECT count(*) FROM worker WHERE {_ALIVE} AND worker.host = %(host)s AND worker.queues = %(queues)s::text[]
"""
# A parcel's jobs are claimed together and run one by one, so more may be running than there are threads.
_CREW = f"""
SELECT count(*) AS workers, coalesce(sum(threads), 0) AS threads, coalesce(sum(least(threads, running)), 0) AS busy
FROM (SELECT threads, {_RUNNING} AS running FROM worker WHERE {_ALIVE} AND {_SERVES} AND threads > 0) server
"""
_HELD = f"""
SELECT job.app, job.key, job.state, job.changed_at AS since, worker.host, worker.pid
FROM worker JOIN job ON job.worker = worker.id
WHERE {_ALIVE} AND {_SERVES} AND job.state = '{State.RUNNING}'
ORDER BY job.changed_at, job.id LIMIT %(limit)s
"""
_GONE = f"""
SELECT host, pid, coalesce(left_at, lease_until) AS at, left_at IS NULL AS lost FROM worker
WHERE NOT ({_ALIVE}) AND {_SERVES} AND threads > 0 ORDER BY lease_until DESC LIMIT 1
"""


class Worker(Struct, frozen=True):
    """``threads`` is how many jobs it runs at once; 0 for one that only plans, judges and grooms. ``definitions`` is a
    digest of those that it goes by, None if they are unknown; ``definitions_problem`` is why it has not taken up a
    change."""

    id: str
    host: str
    pid: int
    queues: list[str]
    threads: int
    code: str | None
    started_at: datetime
    lease_until: datetime
    alive: bool
    running: int
    definitions: str | None = None
    definitions_at: datetime | None = None
    definitions_problem: str | None = None


class Held(Struct, frozen=True):
    """A running job, and the worker that holds it."""

    app: str
    key: str
    state: State
    since: datetime
    host: str
    pid: int

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


class Gone(Struct, frozen=True):
    """A worker that is not there any more; ``lost``: it did not say that it would leave."""

    host: str
    pid: int
    at: datetime
    lost: bool


class Crew(Struct, frozen=True, kw_only=True):
    """Who runs the jobs of one queue: how many workers, with how many threads, how many of these are ``busy``.

    ``held`` is what they run, the longest first, as far as it is told; ``gone`` the last that left.
    """

    workers: int
    threads: int
    busy: int
    held: list[Held] = []
    gone: Gone | None = None

    @property
    def has_room(self) -> bool:
        return self.busy < self.threads


def workers(tx: Tx) -> list[Worker]:
    """The workers that are there, and those that were lost within the hour."""
    return tx.structs(Worker, _WORKERS)


def servers(tx: Tx, queue: str) -> int:
    """How many living workers take from this queue."""
    return int(tx.column(_SERVED, queue=queue)[0])


def at_work(tx: Tx, host: str, queues: Sequence[str]) -> int:
    """How many living workers of this host were given these queues, in this order."""
    return int(tx.column(_AT_WORK, host=host, queues=list(queues))[0])


def unserved(tx: Tx, queues: Sequence[str]) -> list[str]:
    """Those of the queues from which no living worker takes."""
    return tx.column(_UNSERVED, queues=list(queues))


def idle_for(tx: Tx, apps: Collection[str]) -> set[str]:
    """Those of the apps, none of them paused, for which a worker has room, and has had it for a while: a hint about a
    job of one would have been taken."""
    return set(tx.column(_IDLE, apps=sorted(apps))) if apps else set()


def crew(tx: Tx, queue: str) -> Crew:
    ((workers, threads, busy),) = tx.rows(_CREW, queue=queue)
    gone = tx.structs(Gone, _GONE, queue=queue) if not workers else []
    return Crew(
        workers=workers,
        threads=threads,
        busy=busy,
        held=tx.structs(Held, _HELD, queue=queue, limit=TOLD_MAX),
        gone=gone[0] if gone else None,
    )
