"""Workers, the health of the queues they serve, and the definitions they run.

- Workers, and the queues that they serve (``workers``, ``crew``, ``unserved``).
- Health for operators: how long jobs wait (``oldest_ready``), how many workers can take them (``servers``), and which
  components have stopped (``stopped``). The cost of each query depends on the size of its result, not on the number of
  jobs.
- Apps with different definitions in living workers (``differing``).
"""

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from sluice.jobs.catalogue.resolve.digest import KnownDefinitions
from sluice.jobs.model.names import JobName
from sluice.jobs.model.queues import ALL_APPS, CONTROL
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import By, State
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.history import transitions
from sluice.ledger.database.state_ranges import ready_of
from sluice.ledger.database.transitions import IN_TURN, NOW

#: Maximum number of running jobs of a queue that are listed.
TOLD_MAX = 20
#: Seconds for which a worker must have had room to count as idle. An idle worker takes a new job immediately. Between
#: two runs, every worker has room for a moment.
IDLE_S = 2.0
#: Number of last rows of history that are searched for workers that have begun or ended a run within that time.
STEPS_MAX = 500

_ALIVE = f"worker.left_at IS NULL AND worker.lease_until > {NOW}"


def serves(queue: str) -> str:
    """Return the SQL condition that the row ``worker`` serves a queue, which is an expression of SQL. It is the rule of
    ``jobs.model.queues.is_served``."""
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
_NEWEST = transitions(f"(SELECT * FROM history ORDER BY id DESC LIMIT {STEPS_MAX})")
# A few look-ups by key, however many jobs exist. If more than ``STEPS_MAX`` rows of history are written within
# ``IDLE_S``, the search covers less time. That is enough, because a worker that takes part in them is not without a run
# for as long as the search covers.
_IDLE = f"""
WITH stirring AS MATERIALIZED (
    SELECT DISTINCT round.worker FROM (
        {_NEWEST}) step
    JOIN round ON round.job = step.job AND round.claim = step.claim
    WHERE step.by = '{By.EXECUTOR}' AND step.at > {NOW} - make_interval(secs => {IDLE_S})
), idle AS MATERIALIZED (
    SELECT queues FROM worker WHERE {_ALIVE} AND threads > {_RUNNING} AND id NOT IN (SELECT worker FROM stirring)
)
SELECT app FROM unnest(%(apps)s::text[]) AS asked (app)
WHERE NOT EXISTS (SELECT 1 FROM app_pause WHERE app_pause.app = asked.app)
  AND EXISTS (SELECT 1 FROM idle AS worker WHERE {serves("asked.app")})
"""
# Also a few look-ups by key. If more than ``STEPS_MAX`` rows of history are written within ``IDLE_S``, an app that
# begins jobs may count as resting, at a moment in which none of its jobs runs.
_RESTING = f"""
WITH stirring AS MATERIALIZED (
    SELECT DISTINCT job.app FROM (
        {_NEWEST}) step
    JOIN job ON job.id = step.job
    WHERE step.by = '{By.EXECUTOR}' AND step.at > {NOW} - make_interval(secs => {IDLE_S})
), roomy AS MATERIALIZED (
    SELECT queues FROM worker WHERE {_ALIVE} AND threads > {_RUNNING}
)
SELECT app FROM unnest(%(apps)s::text[]) AS asked (app)
WHERE NOT EXISTS (SELECT 1 FROM app_pause WHERE app_pause.app = asked.app)
  AND app NOT IN (SELECT app FROM stirring)
  AND NOT EXISTS (SELECT 1 FROM job WHERE job.app = asked.app AND job.state = '{State.RUNNING}')
  AND EXISTS (SELECT 1 FROM roomy AS worker WHERE {serves("asked.app")})
"""
_AT_WORK = f"""
SELECT count(*) FROM worker WHERE {_ALIVE} AND worker.host = %(host)s AND worker.queues = %(queues)s::text[]
"""
# The jobs of a batch are claimed together and run one by one, so more jobs may be running than there are threads.
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


class WorkerRow(Struct, frozen=True):
    """Worker. ``threads`` is the number of jobs that it runs at a time; 0 if it only plans, judges and grooms.
    ``definitions`` is a digest of the definitions that it uses; None if unknown. ``definitions_problem`` is why it has
    not taken up a change."""

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
    definitions: str | None
    definitions_at: datetime | None
    definitions_problem: str | None


class RunningJob(Struct, frozen=True):
    """Running job, and the worker that holds it."""

    app: str
    key: str
    state: State
    since: datetime
    host: str
    pid: int

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


class GoneWorker(Struct, frozen=True):
    """Worker that no longer exists. ``lost``: it did not report that it would leave."""

    host: str
    pid: int
    at: datetime
    lost: bool


class QueueWorkers(Struct, frozen=True, kw_only=True):
    """Workers that run the jobs of one queue: their number, their threads, and how many of these are ``busy``.

    ``held`` are the jobs that they run, the longest first, up to ``TOLD_MAX``. ``gone`` is the worker that left last;
    it is set only if no worker is left.
    """

    workers: int
    threads: int
    busy: int
    held: list[RunningJob] = []
    gone: GoneWorker | None = None

    @property
    def has_room(self) -> bool:
        return self.busy < self.threads


def workers(tx: Tx) -> list[WorkerRow]:
    """Return the living workers, and the workers that were lost within the last hour."""
    return tx.structs(WorkerRow, _WORKERS)


def count_servers(tx: Tx, queue: str) -> int:
    """Return the number of living workers that take from this queue."""
    return int(tx.column(_SERVED, queue=queue)[0])


def at_work(tx: Tx, host: str, queues: Sequence[str]) -> int:
    """Return the number of living workers of this host that were given these queues, in this order."""
    return int(tx.column(_AT_WORK, host=host, queues=list(queues))[0])


def unserved(tx: Tx, queues: Sequence[str]) -> list[str]:
    """Return the queues from which no living worker takes."""
    return tx.column(_UNSERVED, queues=list(queues))


def idle_for(tx: Tx, apps: Collection[str]) -> set[str]:
    """Return the unpaused apps for which a worker has had room for a while. It would have taken a notification of a job
    of such an app."""
    return set(tx.column(_IDLE, apps=sorted(apps))) if apps else set()


def resting(tx: Tx, apps: Collection[str]) -> set[str]:
    """Return the unpaused apps of which no job runs or has begun or ended lately, although a worker has room for one.

    The worker may be busy with other apps. Then it may have room for a moment only, and the notification of a job may
    still be in its queue.
    """
    return set(tx.column(_RESTING, apps=sorted(apps))) if apps else set()


def crew(tx: Tx, queue: str) -> QueueWorkers:
    ((workers, threads, busy),) = tx.rows(_CREW, queue=queue)
    gone = tx.structs(GoneWorker, _GONE, queue=queue) if not workers else []
    return QueueWorkers(
        workers=workers,
        threads=threads,
        busy=busy,
        held=tx.structs(RunningJob, _HELD, queue=queue, limit=TOLD_MAX),
        gone=gone[0] if gone else None,
    )


#: Number of ready jobs of an app that are read, in the order in which they are claimed.
LOOKED_AT = 10_000
#: Seconds after which a received submission or a due firing is late. Normally a submission is planned within moments,
#: and a due time is fired by the next schedule check.
LATE_S = 60.0

_OLDEST = f"""
SELECT kind.app, min(first.changed_at) FROM unnest(%(apps)s::text[]) AS kind (app)
CROSS JOIN LATERAL (
    SELECT changed_at FROM job WHERE {ready_of("kind.app")}
    ORDER BY {IN_TURN} LIMIT {LOOKED_AT}) first
GROUP BY kind.app
"""
_SERVERS = f"""
SELECT kind.app, count(*) FROM unnest(%(queues)s::text[]) AS kind (app)
JOIN worker ON {serves("kind.app")}
WHERE worker.left_at IS NULL AND worker.lease_until > {NOW} GROUP BY kind.app
"""
_STOPPED = f"""
SELECT {NOW} AS at,
  (SELECT min(received_at) FROM (
      SELECT received_at FROM submission
      WHERE state = '{SubmissionState.RECEIVED}' AND blocking_job IS NULL AND paused_at IS NULL AND next_plan_at IS NULL
      ORDER BY received_at LIMIT 1) oldest
   WHERE received_at < {NOW} - make_interval(secs => {LATE_S})) AS unplanned_since,
  (SELECT max(at) FROM leader) AS led_at,
  coalesce((SELECT array_agg(id ORDER BY fire_at) FROM (
      SELECT id, fire_at FROM schedule
      WHERE retired_at IS NULL AND paused_at IS NULL AND fire_at < {NOW} - make_interval(secs => {LATE_S})
      ORDER BY fire_at LIMIT 20) late), '{{}}') AS late_schedules,
  (SELECT count(*) FROM worker WHERE left_at IS NULL AND lease_until <= {NOW}
      AND lease_until > {NOW} - interval '1 hour') AS lost_workers
"""


class StoppedSigns(Struct, frozen=True, kw_only=True):
    """Signs that something has stopped. ``unplanned_since`` is when the oldest submission was received that no planner
    has planned for a minute. ``led_at`` is when a leader last reported; None if no process ever has."""

    at: datetime
    unplanned_since: datetime | None
    led_at: datetime | None
    late_schedules: list[str]
    lost_workers: int


def oldest_ready(tx: Tx, apps: Collection[str]) -> dict[str, datetime]:
    """Return, by app, since when its longest waiting job is ready. Only the jobs that are claimed first are
    considered."""
    return dict(tx.rows(_OLDEST, apps=sorted(apps)))


def servers(tx: Tx, queues: Sequence[str]) -> dict[str, int]:
    """Return the number of living workers that take from each of the queues. A queue without workers is left out."""
    return dict(tx.rows(_SERVERS, queues=list(queues)))


def stopped(tx: Tx) -> StoppedSigns:
    return tx.structs(StoppedSigns, _STOPPED)[0]


#: Maximum number of apps that are returned.
APPS_MAX = 50

# Catalogues are expanded only if several exist, and each distinct one once, however many workers have it.
_VARIANTS = f"""
WITH living AS MATERIALIZED (
    SELECT catalogue, count(*) AS workers, min(host || ':' || pid) AS one, (array_agg(id))[1] AS id
    FROM worker WHERE left_at IS NULL AND lease_until > {NOW} AND catalogue IS NOT NULL
    GROUP BY catalogue
), variant AS MATERIALIZED (
    SELECT app.key AS app, app.value AS digest, living.workers, living.one
    FROM living JOIN worker ON worker.id = living.id CROSS JOIN LATERAL jsonb_each_text(worker.definitions) AS app
    WHERE (SELECT count(*) FROM (SELECT catalogue FROM living UNION SELECT %(own)s::text) each
           WHERE catalogue IS NOT NULL) > 1
    UNION ALL
    SELECT app.key, app.value, 0, NULL FROM jsonb_each_text(%(apps)s::jsonb) AS app
), differing AS (
    SELECT app FROM variant GROUP BY app HAVING count(DISTINCT digest) > 1 ORDER BY app LIMIT {APPS_MAX}
)
SELECT app, digest, sum(workers)::int AS workers, min(one) AS one,
       (digest = %(apps)s::jsonb ->> app) IS TRUE AS is_own
FROM variant WHERE app IN (SELECT app FROM differing) GROUP BY app, digest
ORDER BY app, workers DESC, digest
"""


#: Maximum number of digests that are returned.
DIGESTS_MAX = 10
_DIGESTS = f"""
SELECT catalogue, count(*) FROM worker
WHERE left_at IS NULL AND lease_until > {NOW} AND catalogue IS NOT NULL
GROUP BY catalogue ORDER BY count(*) DESC, catalogue LIMIT {DIGESTS_MAX}
"""


class Variant(Struct, frozen=True, kw_only=True):
    """Definition of an app. ``workers`` is the number of living workers that have it; ``one`` of them is named.
    ``is_own``: this process has it too."""

    app: str
    digest: str
    workers: int
    one: str | None
    is_own: bool


def definition_digests(tx: Tx) -> dict[str, int]:
    """Return the number of living workers by the digest of all their definitions."""
    return dict(tx.rows(_DIGESTS))


def differing(tx: Tx, own: KnownDefinitions | None = None) -> Sequence[Variant]:
    """Return the variants of each app of which two workers, or a worker and this process, have different definitions.
    Workers of versions before this was recorded are not compared."""
    apps = msgspec.json.encode(own.apps if own else {}).decode()
    return tx.structs(Variant, _VARIANTS, own=own.digest if own else None, apps=apps)
