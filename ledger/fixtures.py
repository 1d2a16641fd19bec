"""Ledgers for tests, simulations and measurements: temporary, filled, and emptied.

- Temporary ledgers (``scratch_ledger``): a separate database beside an existing one, dropped with all its content.
  Other helpers fill and measure it.
- Load fixture (``gather``): a ledger as if a million jobs had run, a chain of apps for each key. It is written in one
  go. It keeps every rule that ``ledger.recovery.invariants`` checks; a test verifies that. Use it only to measure the
  queries of the console.
- Emptying (``empty``, ``cut_off``): for tests and simulations with a database of their own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import psycopg
from msgspec import Struct
from msgspec.structs import asdict
from sqlalchemy import DateTime, Table

from sluice.jobs.errors import Unreachable
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import CLAIM, FAIL, MAKE_READY, RECORD, REQUEST, SUCCEED, By, State
from sluice.jobs.text.server_address import without_password
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.conninfo import complete
from sluice.ledger.database.history import VerbBy, number
from sluice.ledger.schema import migrate
from sluice.ledger.schema.job_tables import history, job, round_, submission, submission_job

_REMEMBER = """
INSERT INTO freshness (app, freshness_scope, work_id, at)
SELECT app, '', id, clock_timestamp() - make_interval(secs => %(age_s)s)
FROM unnest(%(apps)s::text[]) AS apps (app), unnest(%(ids)s::bigint[]) AS ids (id)
"""
# The smallest write that a transaction can make.
_TOUCH = "UPDATE submission SET next_plan_at = clock_timestamp()"
_WRITTEN = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
_OPEN = f"""
SELECT 1 FROM submission
WHERE state IN ('{SubmissionState.RECEIVED}', '{SubmissionState.ACTIVE}') AND app IS DISTINCT FROM %(except_app)s
    LIMIT 1
"""

# The tables with most rows of a plan.
_PLANNED = ("job", "need")
#: Identity of every scratch ledger, so that successive scratch ledgers may use the same broker.
SCRATCH = UUID(int=0)
#: Distance between the numbers of two successive copies, by kind.
_STEPS = """
SELECT (SELECT max(number) FROM submission) AS submissions, (SELECT max(id) FROM job) AS jobs,
       (SELECT max(id) + 1 FROM history) AS history_rows, (SELECT count(*) FROM job) AS keys,
       (SELECT max(ended_at) - min(received_at) FROM submission) AS period
"""
#: Expressions for the columns that must differ in each copy, apart from timestamps.
_COPIED: Mapping[Table, Mapping[str, str]] = {
    submission: {
        "number": "number + copy * %(submissions)s",
        "id": "id || '/' || copy",
        "blocking_job": "blocking_job + copy * %(jobs)s",
    },
    job: {"id": "id + copy * %(jobs)s", "key": "(key::bigint + copy * %(keys)s)::text"},
    submission_job: {"submission": "submission + copy * %(submissions)s", "job": "job + copy * %(jobs)s"},
    round_: {"job": "job + copy * %(jobs)s"},
    history: {"id": "id + copy * %(history_rows)s", "job": "job + copy * %(jobs)s"},
}
_SIZES = """
SELECT relname::text AS "table", pg_total_relation_size(relid) AS bytes, n_dead_tup AS dead_rows
FROM pg_stat_user_tables WHERE relname = ANY(%(tables)s) ORDER BY relname
"""


#: Per cent of each page of ``round`` that rows of ended rounds fill. A worker fills a page with open rounds up to the
#: table's ``fillfactor``, and they grow when they end. Rows that are written in their final form may leave room for one
#: open round on every page. Then, after a vacuum, each claim would write to another old page.
_ROUNDS_FILL = 70


class Steps(Struct, frozen=True):
    submissions: int
    jobs: int
    history_rows: int
    keys: int
    period: timedelta


class Size(Struct, frozen=True):
    """Size of a table with its indexes. ``dead_rows`` is from the server's statistics."""

    table: str
    bytes: int
    dead_rows: int


@contextmanager
def scratch_ledger(url: str, *, is_copy: bool = False) -> Iterator[str]:
    """Provide the address of an empty ledger on the same server until the block ends.

    With ``is_copy`` it is a copy of the database of ``url``, which must be an empty ledger without connections. This
    takes a tenth of the time.
    """
    name = f"sluice_scratch_{uuid4().hex}"
    try:
        with psycopg.connect(url, autocommit=True) as server:
            template = f"TEMPLATE {server.info.dbname}" if is_copy else ""
            server.execute(f"CREATE DATABASE {name} {template}".encode())
    except psycopg.Error as error:
        raise Unreachable(
            f"No temporary database can be created: {' '.join(str(error).split())}",
            where=without_password(url),
            advice="Use a role that may create databases, or leave --ledger out for an embedded database.",
        ) from error
    try:
        scratch = urlsplit(url)._replace(path=f"/{name}").geturl()
        migrate.upgrade(scratch)
        with psycopg.connect(complete(scratch), autocommit=True) as database:
            database.execute("UPDATE installation SET id = %s", [SCRATCH])
        yield scratch
    finally:
        with psycopg.connect(url, autocommit=True) as server:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def remember(tx: Tx, apps: list[str], ids: list[int], *, age_s: float) -> None:
    """Set these apps' last success on these work IDs to ``age_s`` seconds ago, and update the statistics."""
    tx.write(_REMEMBER, apps=apps, ids=ids, age_s=age_s)
    tx.write("ANALYZE freshness")


def touch(tx: Tx) -> None:
    """Change the rows of all submissions, to measure the duration of a commit. With one submission that is one row."""
    tx.write(_TOUCH)


def written(tx: Tx) -> int:
    """Return how many transactions on this server have written anything, in any of its databases."""
    return int(tx.column(_WRITTEN)[0])


def has_work(tx: Tx, *, except_app: str | None = None) -> bool:
    """Return whether any submission has not ended. Submissions of the app ``except_app`` do not count."""
    return bool(tx.rows(_OPEN, except_app=except_app))


def jobs(tx: Tx, state: State) -> int:
    """Return how many jobs are in this state."""
    return int(tx.column("SELECT count(*) FROM job WHERE state = %(state)s", state=state)[0])


def tidy(url: str) -> None:
    """Vacuum and analyze, so that the ledger has no dead rows and current statistics, like one in regular use."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(b"VACUUM (ANALYZE)")


def planned_rows(tx: Tx) -> dict[str, list[bytes]]:
    """Return all jobs and needs in the format of COPY, by table."""
    cursor, rows = tx.connection.cursor(), {}
    for table in _PLANNED:
        with cursor.copy(f"COPY {table} TO STDOUT".encode()) as out:
            rows[table] = [bytes(block) for block in out]
    return rows


def make_twins(tx: Tx) -> None:
    """Create empty twins of the tables that ``planned_rows`` reads, with all of their indexes and constraints."""
    for table in _PLANNED:
        tx.write(f"CREATE TABLE {table}_twin (LIKE {table} INCLUDING ALL)")


def copy_to_twins(tx: Tx, rows: Mapping[str, Iterable[bytes]]) -> None:
    """Copy the rows that ``planned_rows`` returned into the twin tables."""
    for table, blocks in rows.items():
        with tx.connection.cursor().copy(f"COPY {table}_twin FROM STDIN".encode()) as into:
            for block in blocks:
                into.write(block)


def planned_graph(tx: Tx) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the ids of all jobs, and each need as parent and child."""
    needs = [(parent, child) for parent, child in tx.rows("SELECT parent, child FROM need")]
    return tx.column("SELECT id FROM job"), needs


def multiply(tx: Tx, times: int) -> None:
    """Add ``times`` copies of all submissions, jobs and history, each further in the past.

    The copied jobs belong to the same apps and have higher keys. All jobs must have ended, without needs, and their
    keys must be the whole numbers from 0 on.
    """
    [steps] = tx.structs(Steps, _STEPS)
    with _filling_rounds(tx):
        for table, changed in _COPIED.items():
            tx.write(_copy(table, changed), times=times, **asdict(steps))
    for table, column in ((submission, "number"), (job, "id"), (history, "id")):
        tx.rows(f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), max({column})) FROM {table}")


@contextmanager
def _filling_rounds(tx: Tx) -> Iterator[None]:
    """Fill pages of ``round`` up to ``_ROUNDS_FILL`` until the block ends."""
    usual = round_.dialect_options["postgresql"]["with"]["fillfactor"]
    tx.write(f"ALTER TABLE round SET (fillfactor = {_ROUNDS_FILL})")
    yield
    tx.write(f"ALTER TABLE round SET (fillfactor = {usual})")


def sizes(tx: Tx) -> list[Size]:
    """Return the sizes of the tables in which each job has rows."""
    return tx.structs(Size, _SIZES, tables=[table.name for table in _COPIED])


def _copy(table: Table, changed: Mapping[str, str]) -> str:
    """Return the statement that copies a table. The first copy is the oldest."""
    moments = {
        column.name: f'"{column.name}" - (%(times)s + 1 - copy) * %(period)s'
        for column in table.columns
        if isinstance(column.type, DateTime)
    }
    written: dict[str, str] = {column.name: f'"{column.name}"' for column in table.columns}
    written |= moments
    written |= changed
    columns = ", ".join(f'"{name}"' for name in written)
    first, *_ = table.primary_key.columns
    return f"""
        INSERT INTO {table} ({columns}) SELECT {", ".join(written.values())}
        FROM {table} CROSS JOIN generate_series(1, %(times)s::bigint) AS copies (copy)
        ORDER BY copy, {table}.{first.name}
    """


#: One key in this many has failed at the last app of its chain.
FAILS_EVERY = 100

_SUBMISSIONS = f"""
INSERT INTO submission (id, app, state, request, push, received_at, planned_at, ended_at)
SELECT 'crowd-' || key, %(last)s,
       CASE key %% {FAILS_EVERY} WHEN 0 THEN '{SubmissionState.FAILED}' ELSE '{SubmissionState.SUCCEEDED}' END,
       jsonb_build_object('app', %(last)s::text, 'key', key::text), true, at, at, at + interval '1 minute'
FROM (SELECT key, %(since)s::timestamptz + key * %(apart)s::interval AS at FROM generate_series(1, %(keys)s) key) asked
ORDER BY key
"""
_JOBS = f"""
INSERT INTO job (app, key, state, round, fails, claim, unblocked, digest, created_at, changed_at)
SELECT app, key::text, CASE WHEN failed THEN '{State.FAILED}' ELSE '{State.SUCCEEDED}' END,
       failed::int, failed::int, 1, true, 'crowd', at, at + nth * interval '1 second' + interval '800 ms'
FROM (
    SELECT app, nth, key, nth = cardinality(%(apps)s::text[]) AND key %% {FAILS_EVERY} = 0 AS failed,
           %(since)s::timestamptz + key * %(apart)s::interval AS at
    FROM generate_series(1, %(keys)s) key, unnest(%(apps)s::text[]) WITH ORDINALITY AS apps (app, nth)) ran
ORDER BY key, nth
"""
_OF_THE_CROWD = "job.digest = 'crowd'"
_WANTS = f"""
INSERT INTO submission_job (submission, job, request_reason) SELECT submission.number, job.id,
    (job.app <> %(last)s)::int
FROM job JOIN submission ON submission.id = 'crowd-' || job.key WHERE {_OF_THE_CROWD}
"""
_GATES = f"""
INSERT INTO gate (child, gate, name, unmet, impossible)
SELECT id, 0, 'default', 0, 0 FROM job WHERE {_OF_THE_CROWD} AND app <> %(first)s
"""
_NEEDS = f"""
INSERT INTO need (child, gate, parent, condition, met)
SELECT id, 0, id - 1, 'succeeded', true FROM job WHERE {_OF_THE_CROWD} AND app <> %(first)s
"""
_ROUNDS = f"""
INSERT INTO round (job, claim, round, worker, running_at, executed_at, ending, took_s, exit_code, digest, error, output)
SELECT id, 1, 0, %(worker)s, changed_at - interval '700 ms', changed_at - interval '50 ms',
       CASE state WHEN '{State.FAILED}' THEN 'error' ELSE 'done' END, 0.6, (state = '{State.FAILED}')::int, 'crowd',
       CASE state WHEN '{State.FAILED}' THEN 'it broke' END, 'seen to ' || key
FROM job WHERE {_OF_THE_CROWD}
"""
_HISTORY = f"""
INSERT INTO history (job, at, kind, round, claim)
SELECT id, CASE nth WHEN 1 THEN created_at ELSE changed_at - early END,
       CASE WHEN nth = 5 AND state = '{State.FAILED}'
            THEN {number(State.EXECUTED, VerbBy(FAIL, By.PLANNER))} ELSE kind END,
       CASE nth WHEN 5 THEN round ELSE 0 END, (nth > 2)::int
FROM job CROSS JOIN (VALUES
    (1, {number(None, VerbBy(REQUEST, By.PLANNER))}, interval '0'),
    (2, {number(State.WAITING, VerbBy(MAKE_READY, By.PLANNER))}, interval '720 ms'),
    (3, {number(State.READY, VerbBy(CLAIM, By.EXECUTOR))}, interval '700 ms'),
    (4, {number(State.RUNNING, VerbBy(RECORD, By.EXECUTOR))}, interval '50 ms'),
    (5, {number(State.EXECUTED, VerbBy(SUCCEED, By.PLANNER))}, interval '0')
) AS step (nth, kind, early)
WHERE {_OF_THE_CROWD} ORDER BY id, nth
"""


def gather(tx: Tx, apps: Sequence[str], keys: int, *, since: datetime, apart_s: float) -> None:
    """Insert ``keys`` submissions, ``apart_s`` seconds apart, each with a chain of one job per app.

    The submission requests the job of the last app, which needed the jobs of the apps before it. The ledger must be
    empty.
    """
    times = {"since": since, "apart": f"{apart_s} s"}
    tx.write(_SUBMISSIONS, keys=keys, last=apps[-1], **times)
    tx.write(_JOBS, keys=keys, apps=list(apps), **times)
    tx.write(_WANTS, last=apps[-1])
    tx.write(_GATES, first=apps[0])
    tx.write(_NEEDS, first=apps[0])
    with _filling_rounds(tx):
        tx.write(_ROUNDS, worker=uuid4())
    tx.write(_HISTORY)


TABLES = (
    *(
        "submission",
        "job",
        "submission_job",
        "need",
        "gate",
        "round",
        "history",
        "propagation_outbox",
        "expansion",
        "freshness",
        "worker",
        "app_runtime",
    ),
    *("leader", "schedule", "firing", "partition", "app_version", "branch", "branch_sync", "task_sequence"),
    *(
        "saga_journal",
        "saga_signal",
        "saga_signal_early",
        "saga_progress",
        "retention_cursor",
        "claim_floor",
        "blob_deletion",
        "app_pause",
        "audit",
        "breaker",
        "breaker_event",
    ),
    *(
        "state_count",
        "state_count_minute",
        "state_duration",
        "transition_count",
        "event_counter",
        "restoration",
        "retry_budget",
        "rate_limit",
        "rate_start",
        "quota_minute",
    ),
    *("shared_kwargs", "plan_attempt", "delivery", "notification", "receiver"),
)
#: Ids begin again, so the counting of transitions must begin again too.
_COUNT_ANEW = (
    "UPDATE aggregation_cursor SET counted = 0, committed = 0, issued = 0, issued_xid = 0, at = '-infinity'"
)
#: Bytes up to which tables are emptied by DELETE. TRUNCATE takes ten times as long unless they have much data, live or
#: dead.
_SWEPT_BYTES_MAX = 2 * 1024 * 1024
_CUT_OFF = f"TRUNCATE {', '.join(TABLES)} RESTART IDENTITY"
_EMPTY = f"""
DO $$ BEGIN
    IF (SELECT sum(pg_relation_size(name::regclass)) FROM unnest('{{{",".join(TABLES)}}}'::text[]) AS each (name))
       > {_SWEPT_BYTES_MAX} THEN
        {_CUT_OFF};
    ELSE
        {" ".join(f"DELETE FROM {name};" for name in TABLES)}
        PERFORM setval(quote_ident(sequencename)::regclass, 1, false) FROM pg_sequences
        WHERE schemaname = current_schema();
    END IF;
    {_COUNT_ANEW};
END $$
"""


def empty(tx: Tx) -> None:
    """Empty the ledger, as if it had never been used."""
    tx.write(_EMPTY)


def cut_off(tx: Tx) -> None:
    """Empty the ledger by TRUNCATE, which leaves no dead rows either."""
    tx.write(_CUT_OFF)
    tx.write(_COUNT_ANEW)
