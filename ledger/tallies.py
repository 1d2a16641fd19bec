"""Counting: how many jobs of each app are in each state, without looking at the jobs.

The history says it all: a row for each step of a job, with the state that it left and the one that it came into. So
nobody who moves a job counts anything, and no row is written by all; what has been written is counted afterwards, each
row once, in the order of its ids.

What holds: the tables say what all transitions up to ``counted`` come to. Whoever adds those that he sees behind it
(``reads.standing``), in the same statement, knows the truth of his snapshot, however late the counting is.

Who races whom: ids are given out in order and committed in any. Of two rows the one with the larger id may be counted
before the other one is there, which would be missed then. So nothing is counted before all who may have an id up to it
have ended. We look which id was the last that was given out (``mark``), and only then take a number, as every
transaction does that writes (``mark_xid``). Whoever got one of those ids had moved a job before, and so had a number by
then, a smaller one than ours. Once the oldest transaction under way has ours or a larger one, nothing up to the mark is
yet to come. One that takes long holds the counting up, and loses nothing.

Two who count at once: the row of ``tally_place`` is held by one, and the other leaves it at that. What a crash leaves:
nothing, for all of it is one transaction. History is removed long after it is counted; what is not by then
is counted by whoever removes it (``count_of``). Rows of jobs stay for ever.
"""

from sluice.jobs.history import Lost
from sluice.jobs.states import State, sql_list
from sluice.ledger.connection import Tx
from sluice.ledger.sql import NOW

#: So often something is counted, and so many rows in one go.
EVERY_S = 2.0
LIMIT = 20_000
#: So long it is told by the minute what happened.
MINUTES_KEPT_S = 90_000.0
#: What gives out the ids of transitions. Whoever counts has to be allowed to look at it (``ledger.roles``).
SEQUENCE = "transition_id_seq"
#: The lengths of stays, as a histogram has them.
BUCKETS_S = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
    *(300.0, 900.0, 3600.0, 14_400.0, 86_400.0),
)
#: How long jobs stay here is of interest: until they are claimed, while they run or wait, until they are judged.
TIMED = (State.READY, State.RUNNING, State.SUSPENDED, State.EXECUTED)

_NEWEST = "(SELECT max(id) FROM transition)"
_IS_DUE = f"""
SELECT 1 FROM tally_place WHERE counted < {_NEWEST}
  AND (at < {NOW} - make_interval(secs => {EVERY_S}) OR counted < {_NEWEST} - {LIMIT})
"""
_HOLD = "SELECT counted, settled, mark, mark_xid FROM tally_place FOR UPDATE SKIP LOCKED"
# Null before the first; and from Postgres 18 on for a role that may not look, where older ones refuse it.
_GIVEN_OUT = f"SELECT coalesce(pg_sequence_last_value('{SEQUENCE}'), 0)"
# In snapshots of their own: whoever is not under way in this one is seen by whatever is read later.
_NUMBERS = """
SELECT pg_current_xact_id()::text::bigint, pg_snapshot_xmin(pg_current_snapshot())::text::bigint
"""
_PLACE = f"""
UPDATE tally_place
SET counted = %(counted)s, settled = %(settled)s, mark = %(mark)s, mark_xid = %(mark_xid)s, at = {NOW}
"""
_HOLD_FOR_US = "SELECT counted FROM tally_place FOR UPDATE"
_IS_UNCOUNTED = """
SELECT 1 FROM transition WHERE job = ANY(%(jobs)s) AND id > (SELECT counted FROM tally_place) LIMIT 1
"""
# To what was counted before.
_ADD = """, moved AS (
    INSERT INTO tally (app, state, jobs, entered)
    SELECT app, state, sum(jobs), sum(entered) FROM (
        SELECT app, target AS state, steps AS jobs, steps AS entered FROM step
        UNION ALL SELECT app, source, -steps, 0 FROM step WHERE source <> '-') side
    GROUP BY app, state
    ON CONFLICT (app, state) DO UPDATE
        SET jobs = tally.jobs + excluded.jobs, entered = tally.entered + excluded.entered
), minutes AS (
    INSERT INTO tally_minute (minute, app, state, entered)
    SELECT minute, app, target, sum(steps) FROM step GROUP BY 1, 2, 3
    ON CONFLICT (minute, app, state) DO UPDATE SET entered = tally_minute.entered + excluded.entered
), stays AS (
    INSERT INTO tally_stay (app, state, bucket, stays, seconds)
    SELECT app, source, bucket, sum(steps), sum(seconds) FROM step WHERE bucket IS NOT NULL GROUP BY 1, 2, 3
    ON CONFLICT (app, state, bucket) DO UPDATE
        SET stays = tally_stay.stays + excluded.stays, seconds = tally_stay.seconds + excluded.seconds
)
INSERT INTO tally_verb (verb, by, lost, steps)
SELECT verb, by, lost, sum(steps) FROM step GROUP BY 1, 2, 3
ON CONFLICT (verb, by, lost) DO UPDATE SET steps = tally_verb.steps + excluded.steps
"""


def _counting(rows: str) -> str:
    """Each row is looked at once, for all that is counted of it; what that comes to is little.

    The step before one is among those that are counted with it, mostly. A stay as long as a bound is within it, so the
    bounds are the negative ones.
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
                       SELECT before.at FROM transition before WHERE before.job = fresh.job AND before.id < fresh.id
                       ORDER BY before.id DESC LIMIT 1))) END AS stay_s
            FROM (
                SELECT id, job, at, source, target, verb, by, note,
                       lag(at) OVER (PARTITION BY job ORDER BY id) AS came_at
                FROM transition WHERE {rows}) fresh
            CROSS JOIN LATERAL (SELECT app FROM job WHERE job.id = fresh.job LIMIT 1) job
            OFFSET 0) stay
        GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
    )
    {_ADD}
    """


_COUNT = _counting("id > %(counted)s AND id <= %(upto)s")
_COUNT_OF = _counting("job = ANY(%(jobs)s) AND id > %(counted)s")
#: As they are asked for.
_BOUNDS = sorted(-bound for bound in BUCKETS_S)
_FORGET = f"DELETE FROM tally_minute WHERE minute < {NOW} - make_interval(secs => {MINUTES_KEPT_S})"


def is_due(tx: Tx) -> bool:
    return bool(tx.rows(_IS_DUE))


def count(tx: Tx) -> int:
    """Count what is settled and is not counted yet, a bounded number; how many transitions that was at the most.

    The transaction has written nothing before.
    """
    if not is_due(tx):
        return 0
    given_out: int = tx.column(_GIVEN_OUT)[0]
    if not (held := tx.rows(_HOLD)):  # By this we take our number.
        return 0
    counted: int
    settled: int
    counted, settled, mark, mark_xid = held[0]
    ours, oldest = tx.rows(_NUMBERS)[0]
    if oldest >= mark_xid:
        settled, mark, mark_xid = mark, given_out, ours
    if oldest >= mark_xid:
        settled = mark
    upto = min(settled, counted + LIMIT)
    if upto > counted:
        tx.write(_COUNT, counted=counted, upto=upto, bounds=_BOUNDS)
        tx.write(_FORGET)
    tx.write(_PLACE, counted=max(upto, counted), settled=settled, mark=mark, mark_xid=mark_xid)
    return max(upto - counted, 0)


def count_of(tx: Tx, jobs: list[int]) -> None:
    """Count what is not counted yet of these jobs, whose transitions this one transaction is about to remove. It holds
    the jobs, so there is nothing of them that it does not see."""
    if not tx.rows(_IS_UNCOUNTED, jobs=jobs):
        return
    tx.write(_COUNT_OF, jobs=jobs, counted=tx.column(_HOLD_FOR_US)[0], bounds=_BOUNDS)


def hold(tx: Tx) -> None:
    """Until this transaction ends nobody counts."""
    tx.rows(_HOLD_FOR_US)


def go_on_from(tx: Tx, place: int) -> None:
    """Count all there is, and say that it was counted up to this id, which is beyond all that were given out. For
    whoever keeps all others from moving jobs. The number of a transaction that is kept may be of a server that is no
    more."""
    counted = tx.column(_HOLD_FOR_US)[0]
    newest = tx.column(f"SELECT coalesce({_NEWEST}, 0)")[0]
    if newest > counted:
        tx.write(_COUNT, counted=counted, upto=newest, bounds=_BOUNDS)
    tx.write(_PLACE, counted=place, settled=place, mark=place, mark_xid=0)
