"""How the ledger's server is: what it is, what it has left, and who keeps it from its work.

Everything is read from what Postgres counts anyway, so that to ask costs a large ledger no more than a small one. Only
``contradictions`` reads rows, and is given little time to.
"""

from collections.abc import Sequence
from datetime import datetime

import psycopg
from msgspec import Struct

from sluice.jobs.states import State
from sluice.ledger.connection import Ledger, Tx
from sluice.ledger.reads.check import Breach, breaches

#: The oldest Postgres that the ledger's statements are written for, as the server numbers it.
VERSION_MIN = 140000
#: A transaction that has been open for longer keeps autovacuum from cleaning up behind everybody.
LONG_S = 300.0
#: Of what there may be many, so many are told.
TOLD_MAX = 5
#: Of jobs that are ready, so many are looked at.
LOOKED_AT_MAX = 10_000
#: A table is overgrown when it has more dead rows than this, and more than living ones.
DEAD_ROWS_MAX = 50_000

# Of other users' sessions Postgres tells us neither when they began nor what they are; they are counted all the same.
_SERVER = """
SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS release,
       current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS places,
       (SELECT coalesce(sum(numbackends), 0) FROM pg_stat_database WHERE datname IS NOT NULL)::int AS taken,
       current_setting('autovacuum')::bool AND current_setting('track_counts')::bool AS autovacuum,
       current_setting('fsync')::bool AS fsync, pg_is_in_recovery() AS standby, clock_timestamp() AS now
"""
_LONG = """
SELECT pid, coalesce(nullif(application_name, ''), 'unnamed') AS name, coalesce(state, 'unknown') AS doing,
       xact_start AS since
FROM pg_stat_activity
WHERE xact_start < clock_timestamp() - make_interval(secs => %(long_s)s) AND pid <> pg_backend_pid()
UNION ALL
SELECT 0, gid, 'prepared', prepared FROM pg_prepared_xacts
WHERE prepared < clock_timestamp() - make_interval(secs => %(long_s)s)
ORDER BY since LIMIT %(limit)s
"""
# A transaction that has read a table keeps a lock of it until it ends.
_BLOCKERS = """
SELECT activity.pid, coalesce(nullif(application_name, ''), 'unnamed') AS name,
       coalesce(state, 'unknown') AS doing, xact_start AS since
FROM pg_stat_activity activity
WHERE activity.pid <> pg_backend_pid() AND xact_start < clock_timestamp() - make_interval(secs => %(long_s)s)
  AND activity.pid IN (
      SELECT lock.pid FROM pg_locks lock JOIN pg_class class ON class.oid = lock.relation
      WHERE lock.granted AND class.relnamespace = current_schema()::regnamespace
        AND lock.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  )
ORDER BY since LIMIT %(limit)s
"""
_TABLES = """
SELECT stat.relname AS name, stat.n_live_tup AS living, stat.n_dead_tup AS dead,
       'autovacuum_enabled=false' = ANY(coalesce(class.reloptions, '{}')) AS left_out
FROM pg_stat_user_tables stat JOIN pg_class class ON class.oid = stat.relid
WHERE stat.schemaname = current_schema()
ORDER BY stat.relname
"""
# Few are ready at a time, and those are found by what was announced; a table of many is not read to its end.
_READY = f"""
SELECT app, count(*) AS jobs, min(changed_at) AS since
FROM (SELECT app, changed_at FROM job WHERE state = '{State.READY}' LIMIT %(limit)s) ready
GROUP BY app ORDER BY app
"""
_RUNNING = f"""
SELECT worker.host, worker.pid, job.app, round.digest, count(*) AS jobs
FROM job JOIN worker ON worker.id = job.worker JOIN round ON round.job = job.id AND round.claim = job.claim
WHERE job.state = '{State.RUNNING}' AND job.worker IS NOT NULL
GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3
"""


class Server(Struct, frozen=True):
    """``places`` is how many may be connected at once without a superuser's rights, ``taken`` how many are.
    ``standby``: it only follows another one, and takes no writes."""

    version: int
    release: str
    places: int
    taken: int
    autovacuum: bool
    fsync: bool
    standby: bool
    now: datetime


class Long(Struct, frozen=True):
    """A transaction that has been open for long; ``pid`` is 0 for one that was prepared and left."""

    pid: int
    name: str
    doing: str
    since: datetime


class Table(Struct, frozen=True):
    """About how many rows a table has; ``left_out``: autovacuum is told not to look at it."""

    name: str
    living: int
    dead: int
    left_out: bool

    @property
    def is_overgrown(self) -> bool:
        return self.dead > max(DEAD_ROWS_MAX, self.living)


class Ready(Struct, frozen=True):
    """How many of an app's jobs may run, as far as they were looked at, and since when the first of them."""

    app: str
    jobs: int
    since: datetime


class Runs(Struct, frozen=True):
    """So many jobs of an app run in a worker, by the definition of this digest."""

    host: str
    pid: int
    app: str
    digest: str | None
    jobs: int


def server(tx: Tx) -> Server:
    return tx.structs(Server, _SERVER)[0]


def long_transactions(tx: Tx, *, long_s: float = LONG_S) -> Sequence[Long]:
    """The oldest of those of which we are told."""
    return tx.structs(Long, _LONG, long_s=long_s, limit=TOLD_MAX)


def blockers(tx: Tx, *, long_s: float) -> Sequence[Long]:
    """Transactions that a migration would wait for: open for longer, with a lock of a table of the ledger."""
    return tx.structs(Long, _BLOCKERS, long_s=long_s, limit=TOLD_MAX)


def tables(tx: Tx) -> Sequence[Table]:
    return tx.structs(Table, _TABLES)


def ready(tx: Tx) -> Sequence[Ready]:
    return tx.structs(Ready, _READY, limit=LOOKED_AT_MAX)


def runs(tx: Tx) -> Sequence[Runs]:
    return tx.structs(Runs, _RUNNING)


def contradictions(ledger: Ledger, *, within_s: float) -> Sequence[Breach] | None:
    """In what the ledger does not agree with itself; None where that takes longer to find out."""
    try:
        with ledger.begin() as tx:
            tx.rows("SELECT set_config('statement_timeout', %(ms)s, true)", ms=str(round(within_s * 1000)))
            return breaches(tx)
    except psycopg.errors.QueryCanceled:
        return None
