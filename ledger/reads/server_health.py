"""Vital signs of the ledger's server: its settings, its remaining capacity, and the sessions that obstruct it.

Most values come from statistics that Postgres keeps anyway, so they cost the same for a large ledger. ``ready`` reads
at most ``LOOKED_AT_MAX`` jobs, and ``runs`` reads the running jobs. Only ``contradictions`` reads everything, and its
time is limited.
"""

from collections.abc import Sequence
from datetime import datetime

import psycopg
from msgspec import Struct

from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.recovery.invariants import Breach, breaches

#: Oldest supported Postgres, as the server numbers it (``server_version_num``).
VERSION_MIN = 140000
#: Seconds after which an open transaction counts as long. It keeps autovacuum from removing the dead rows of all
#: others.
LONG_S = 300.0
#: Maximum number of transactions that are listed.
TOLD_MAX = 5
#: Maximum number of ready jobs that are read.
LOOKED_AT_MAX = 10_000
#: Dead rows above which a table is overgrown, if it also has more dead than living rows.
DEAD_ROWS_MAX = 50_000

# Postgres hides from us when sessions of other users began and what kind they are. It counts them all the same.
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
# A transaction that has read a table keeps a lock on it until it ends.
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
# Sizes include indexes and TOAST. They come from the file system, and so cost the same for a large table.
_SIZES = """
SELECT stat.relname AS name, coalesce(pg_total_relation_size(stat.relid), 0) AS bytes, stat.n_dead_tup AS dead
FROM pg_stat_user_tables stat WHERE stat.schemaname = current_schema()
ORDER BY bytes DESC, name
"""
# A vacuum of a large table takes long, and its transaction keeps no dead row.
_OLDEST = """
SELECT coalesce(greatest(extract(epoch FROM clock_timestamp() - min(since)), 0), 0)::float8 FROM (
    SELECT xact_start AS since FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND backend_type IS DISTINCT FROM 'autovacuum worker'
    UNION ALL SELECT prepared FROM pg_prepared_xacts WHERE database = current_database()) open
"""
# Usually few jobs are ready, and an index on notifications finds them. If many are, the limit ends the read.
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


class ServerFacts(Struct, frozen=True):
    """Settings and capacity of the server. ``places`` is the number of connections that are possible without superuser
    rights; ``taken`` is how many exist. ``standby``: the server only follows another one and accepts no writes."""

    version: int
    release: str
    places: int
    taken: int
    autovacuum: bool
    fsync: bool
    standby: bool
    now: datetime


class Long(Struct, frozen=True):
    """Transaction that has been open for a long time. ``pid`` is 0 for a prepared transaction that was left."""

    pid: int
    name: str
    doing: str
    since: datetime


class TableSize(Struct, frozen=True):
    """Approximate number of rows of a table. ``left_out``: autovacuum is disabled for it."""

    name: str
    living: int
    dead: int
    left_out: bool

    @property
    def is_overgrown(self) -> bool:
        return self.dead > max(DEAD_ROWS_MAX, self.living)


class TableSpace(Struct, frozen=True):
    """Size of a table on disk, with its indexes, and its approximate number of dead rows."""

    name: str
    bytes: int
    dead: int


class ReadyCount(Struct, frozen=True):
    """Number of ready jobs of an app, as far as they were read, and the time since which the first of them is ready."""

    app: str
    jobs: int
    since: datetime


class Runs(Struct, frozen=True):
    """Number of jobs of an app that a worker runs by the definition with this digest."""

    host: str
    pid: int
    app: str
    digest: str | None
    jobs: int


def server(tx: Tx) -> ServerFacts:
    return tx.structs(ServerFacts, _SERVER)[0]


def long_transactions(tx: Tx, *, long_s: float = LONG_S) -> Sequence[Long]:
    """Return the oldest long transactions that are visible to this role."""
    return tx.structs(Long, _LONG, long_s=long_s, limit=TOLD_MAX)


def blockers(tx: Tx, *, long_s: float) -> Sequence[Long]:
    """Return the transactions that a migration would wait for. They have been open for longer than ``long_s`` seconds,
    with a lock on a table of the ledger."""
    return tx.structs(Long, _BLOCKERS, long_s=long_s, limit=TOLD_MAX)


def tables(tx: Tx) -> Sequence[TableSize]:
    return tx.structs(TableSize, _TABLES)


def table_spaces(tx: Tx) -> Sequence[TableSpace]:
    """Return the sizes of all tables, the largest first."""
    return tx.structs(TableSpace, _SIZES)


def oldest_transaction_s(tx: Tx) -> float:
    """Return the age of the oldest transaction in this database that is visible to this role; 0 if none is open."""
    return float(tx.column(_OLDEST)[0])


def ready(tx: Tx) -> Sequence[ReadyCount]:
    return tx.structs(ReadyCount, _READY, limit=LOOKED_AT_MAX)


def runs(tx: Tx) -> Sequence[Runs]:
    return tx.structs(Runs, _RUNNING)


def contradictions(ledger: Ledger, *, within_s: float) -> Sequence[Breach] | None:
    """Return the rules that the ledger breaks; None if the check takes longer than ``within_s`` seconds."""
    try:
        with ledger.begin() as tx:
            tx.rows("SELECT set_config('statement_timeout', %(ms)s, true)", ms=str(round(within_s * 1000)))
            return breaches(tx)
    except psycopg.errors.QueryCanceled:
        return None
