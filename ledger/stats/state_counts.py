"""Counting: how many jobs of each app are in each state, without reading the jobs.

The history has every transition of a job, with its source and target state. So transitions update no shared counters.
The rows of ``history`` are counted afterwards, each once, in the order of their ids.

Invariant: the tables contain the counts of all transitions up to ``counted``. A reader that adds the later transitions
in the same statement (``SIDES``) gets the exact counts of its snapshot, however late the counting is.

Races: ids are issued in order and committed in any order. A row with a larger id may be committed before one with a
smaller id, which would then be missed. So no transition is counted before all transactions that may have an id up to it
have ended. Counting first reads the last id issued (``issued``). Only then it takes a transaction number, as every
writing transaction does (``issued_xid``). A transaction with an id up to the issued had moved a job before, so its
number is smaller. Once the oldest open transaction has this number or a larger one, no id up to the issued is still to
be committed. A long transaction delays the counting, but nothing is lost.

If two transactions count concurrently, one holds the row of ``aggregation_cursor`` and the other gives up. A crash
leaves nothing, because all of it is one transaction. History is usually removed long after it was counted. Otherwise
the transaction that removes it counts it (``count_of``). The removal of jobs subtracts them (``forget``).
"""

from collections import Counter
from collections.abc import Sequence

from sluice.jobs.model.history import Lost
from sluice.jobs.states import State, sql_list
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.history import transitions
from sluice.ledger.database.transitions import NOW

#: Seconds between two counts, and most rows per count. A larger backlog is counted without the pause.
EVERY_S = 2.0
LIMIT = 20_000
#: Seconds for which counts per minute are kept: 25 hours.
MINUTES_KEPT_S = 90_000.0
#: Sequence of the ids of history rows. The role of the process that counts needs the right to read it
#: (``ledger.schema.roles``).
SEQUENCE = "history_id_seq"
#: Upper bounds of the histogram of stays, in seconds.
BUCKETS_S = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
    *(300.0, 900.0, 3600.0, 14_400.0, 86_400.0),
)
#: States in which the duration of stays is counted: until the claim, running, suspended, and until the judgement.
TIMED = (State.READY, State.RUNNING, State.SUSPENDED, State.EXECUTED)

_NEWEST = "(SELECT max(id) FROM history)"
_BETWEEN = "(SELECT * FROM history WHERE id > {after} AND id <= {upto})"
#: SQL for the transitions that are not counted yet, one row each. With both bounds, Postgres correctly estimates few
#: rows. With only a lower bound, it estimates a third of the whole history, and would read that from end to end.
UNCOUNTED = f"""
({transitions(_BETWEEN.format(after="(SELECT counted FROM aggregation_cursor)", upto=_NEWEST))}) step
CROSS JOIN LATERAL (SELECT app FROM job WHERE job.id = step.job LIMIT 1) job
"""
#: Query for rows (app, state, jobs). Their sums by app and state are the present numbers of jobs. Counted and uncounted
#: transitions are read in one statement, so both are of one snapshot.
SIDES = f"""
SELECT app, state, jobs FROM state_count
UNION ALL SELECT job.app, side.state, side.jobs
FROM {UNCOUNTED} CROSS JOIN LATERAL (VALUES (step.target, 1), (step.source, -1)) AS side (state, jobs)
WHERE side.state <> '-'
"""

#: Query with a row if ``count`` has something to do.
IS_DUE = f"""
SELECT 1 FROM aggregation_cursor WHERE counted < {_NEWEST}
  AND (at < {NOW} - make_interval(secs => {EVERY_S}) OR counted < {_NEWEST} - {LIMIT})
"""
_HOLD = "SELECT counted, committed, issued, issued_xid FROM aggregation_cursor FOR UPDATE SKIP LOCKED"
# Null before the first id. From Postgres 18 on also null for a role without the right to read it; older versions raise.
_GIVEN_OUT = f"SELECT coalesce(pg_sequence_last_value('{SEQUENCE}'), 0)"
# In a snapshot of its own: the rows of a transaction that has ended in this snapshot are visible to later statements.
_NUMBERS = """
SELECT pg_current_xact_id()::text::bigint, pg_snapshot_xmin(pg_current_snapshot())::text::bigint
"""
_PLACE = f"""
UPDATE aggregation_cursor
SET counted = %(counted)s, committed = %(committed)s, issued = %(issued)s, issued_xid = %(issued_xid)s, at = {NOW}
"""
_HOLD_FOR_US = "SELECT counted FROM aggregation_cursor FOR UPDATE"
_IS_UNCOUNTED = """
SELECT 1 FROM history WHERE job = ANY(%(jobs)s) AND id > (SELECT counted FROM aggregation_cursor) LIMIT 1
"""
# Adds to the earlier counts.
_ADD = """, moved AS (
    INSERT INTO state_count (app, state, jobs, entered)
    SELECT app, state, sum(jobs), sum(entered) FROM (
        SELECT app, target AS state, steps AS jobs, steps AS entered FROM step
        UNION ALL SELECT app, source, -steps, 0 FROM step WHERE source <> '-') side
    GROUP BY app, state
    ON CONFLICT (app, state) DO UPDATE
        SET jobs = state_count.jobs + excluded.jobs, entered = state_count.entered + excluded.entered
), minutes AS (
    INSERT INTO state_count_minute (minute, app, state, entered)
    SELECT minute, app, target, sum(steps) FROM step GROUP BY 1, 2, 3
    ON CONFLICT (minute, app, state) DO UPDATE SET entered = state_count_minute.entered + excluded.entered
), stays AS (
    INSERT INTO state_duration (app, state, bucket, stays, seconds)
    SELECT app, source, bucket, sum(steps), sum(seconds) FROM step WHERE bucket IS NOT NULL GROUP BY 1, 2, 3
    ON CONFLICT (app, state, bucket) DO UPDATE
        SET stays = state_duration.stays + excluded.stays, seconds = state_duration.seconds + excluded.seconds
)
INSERT INTO transition_count (verb, by, lost, steps)
SELECT verb, by, lost, sum(steps) FROM step GROUP BY 1, 2, 3
ON CONFLICT (verb, by, lost) DO UPDATE SET steps = transition_count.steps + excluded.steps
"""


def _counting(rows: str) -> str:
    """Return the statement that counts the transitions of these rows of ``history``. Each is read once for all counts,
    and the results are small.

    The previous transition of a job is mostly among the rows counted with it. Otherwise its row has a smaller id; the
    two transitions of a row have the same time. A stay exactly as long as a bound belongs below the bound, so
    ``width_bucket`` is given negative values.
    """
    return f"""
    WITH step AS MATERIALIZED (
        SELECT app, source, target, verb, by, lost, date_trunc('minute', at) AS minute,
               {len(BUCKETS_S)} - width_bucket(-stay_s, %(bounds)s::float8[]) AS bucket,
               count(*) AS steps, sum(stay_s) AS seconds
        FROM (
            SELECT app, source, target, verb, by, at,
                   CASE WHEN note IN ({sql_list(*Lost)}) THEN note ELSE '' END AS lost,
                   CASE WHEN source IN ({sql_list(*TIMED)}) THEN date_part('epoch', at - coalesce(came_at, (
                       SELECT before.at FROM history before WHERE before.job = fresh.job AND before.id < fresh.id
                       ORDER BY before.id DESC LIMIT 1))) END AS stay_s
            FROM (
                SELECT id, job, at, source, target, verb, by, note,
                       lag(at) OVER (PARTITION BY job ORDER BY id) AS came_at
                FROM ({transitions(rows)}) step) fresh
            CROSS JOIN LATERAL (SELECT app FROM job WHERE job.id = fresh.job LIMIT 1) job
            OFFSET 0) stay
        GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
    )
    {_ADD}
    """


_COUNT = _counting(_BETWEEN.format(after="%(counted)s", upto="%(upto)s"))
_COUNT_OF = _counting("(SELECT * FROM history WHERE job = ANY(%(jobs)s) AND id > %(counted)s)")
#: Bounds as ``_counting`` passes them to ``width_bucket``.
_BOUNDS = sorted(-bound for bound in BUCKETS_S)
# Two bounds, as for the uncounted transitions. Each is a subquery, because an index cannot be searched by a volatile
# expression.
_FORGET = f"""
DELETE FROM state_count_minute
WHERE minute >= (SELECT min(minute) FROM state_count_minute)
  AND minute < (SELECT {NOW} - make_interval(secs => {MINUTES_KEPT_S}))
"""


_SUBTRACT = """
UPDATE state_count SET jobs = state_count.jobs - gone.jobs
FROM unnest(%(app)s::text[], %(state)s::text[], %(jobs)s::bigint[]) AS gone (app, state, jobs)
WHERE state_count.app = gone.app AND state_count.state = gone.state
"""


def is_due(tx: Tx) -> bool:
    return bool(tx.rows(IS_DUE))


def count(tx: Tx) -> int:
    """Count committed transitions that are not counted yet, at most ``LIMIT`` ids. Return the number of ids.

    The transaction must not have written anything before.
    """
    if not is_due(tx):
        return 0
    given_out: int = tx.column(_GIVEN_OUT)[0]
    if not (held := tx.rows(_HOLD)):  # This lock assigns our transaction number.
        return 0
    counted: int
    committed: int
    counted, committed, issued, issued_xid = held[0]
    ours, oldest = tx.rows(_NUMBERS)[0]
    if oldest >= issued_xid:
        committed, issued, issued_xid = issued, given_out, ours
    if oldest >= issued_xid:
        committed = issued
    upto = min(committed, counted + LIMIT)
    if upto > counted:
        tx.write(_COUNT, counted=counted, upto=upto, bounds=_BOUNDS)
        tx.write(_FORGET)
    tx.write(_PLACE, counted=max(upto, counted), committed=committed, issued=issued, issued_xid=issued_xid)
    return max(upto - counted, 0)


def count_of(tx: Tx, jobs: list[int]) -> None:
    """Count the uncounted transitions of these jobs, which this transaction is about to remove.

    It holds the jobs' rows, so it sees all of their transitions.
    """
    if not tx.rows(_IS_UNCOUNTED, jobs=jobs):
        return
    tx.write(_COUNT_OF, jobs=jobs, counted=tx.column(_HOLD_FOR_US)[0], bounds=_BOUNDS)


def forget(tx: Tx, jobs: Sequence[tuple[str, str]]) -> None:
    """Subtract removed jobs, given as their apps and states. All of their transitions are counted."""
    tx.rows(_HOLD_FOR_US)
    rows = [(*side, number) for side, number in sorted(Counter(jobs).items())]
    tx.write(_SUBTRACT, **arrays(rows, "app", "state", "jobs"))


def hold(tx: Tx) -> None:
    """Keep other transactions from counting until this one ends."""
    tx.rows(_HOLD_FOR_US)


def go_on_from(tx: Tx, place: int) -> None:
    """Count all transitions, and set them as counted up to this id, which is above all issued ids.

    The caller keeps all other transactions from moving jobs. The stored transaction number is reset, because it may be
    of a server that no longer exists.
    """
    counted = tx.column(_HOLD_FOR_US)[0]
    newest = tx.column(f"SELECT coalesce({_NEWEST}, 0)")[0]
    if newest > counted:
        tx.write(_COUNT, counted=counted, upto=newest, bounds=_BOUNDS)
    tx.write(_PLACE, counted=place, committed=place, issued=place, issued_xid=0)
