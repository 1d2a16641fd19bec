"""Work of the groomer. Each verb takes a limit and is one bounded step; all are safe to repeat.

No verb reads a queue. A lost notification shows only in the ledger: as a row that was announced and has not moved
since.
"""

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from sluice.jobs.model.history import Lost
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.sagas.abort_reasons import AbortReason
from sluice.jobs.states import EXPIRE, FAIL_LOST, REQUEUE, STOPPABLE, By, State, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import DUE, IN_TURN, NOW, TIME_LIMIT, move
from sluice.ledger.job_graph.dependencies import add_to_outbox
from sluice.ledger.job_graph.readiness import READY_COLUMNS, UNEXPIRED, ReadyJob, make_ready, move_out
from sluice.ledger.lifecycle.outcomes import timeout_statements
from sluice.ledger.lifecycle.plan_attempts import SETTLED
from sluice.ledger.lifecycle.rounds import interrupt
from sluice.ledger.lifecycle.submissions import UNWATCHED_LATELY
from sluice.ledger.limits import breakers
from sluice.ledger.limits.pools import FREE
from sluice.ledger.notifications.lateness import LATE_JOBS
from sluice.ledger.sagas.abortion import abort
from sluice.ledger.sagas.events import KEPT_EARLY
from sluice.ledger.sagas.journals import CRASHES
from sluice.ledger.sagas.suspension import LATE

#: Seconds after which a notification without effect is repeated, then twice as long, and so on.
PATIENCE_S = 10.0
PATIENCE_DOUBLINGS_MAX = 6
#: Seconds after which a notification is repeated if the app's workers are idle: 1, a tick of the groomer. A
#: notification takes milliseconds to reach a worker that has room.
IDLE_PATIENCE_S = 1.0
#: Number of ready jobs of an app, the most urgent first, of which a late one makes the app late: 100.
FIRST_READY = 100
#: Maximum number of apps of which one step announces the first ready job again because they rest: 20. If the workers
#: have room for moments only, these notifications are superfluous. 20 look-ups take a worker about 20 ms.
RESTING_APPS_MAX = 20
#: Seconds before a saga that lost a second worker at the same place of its flight is taken up again, then twice as
#: long, and so on.
RETAKE_S = 5.0
RETAKE_S_MAX = 600.0
#: Seconds for which a row is left alone because a message about it was just promised.
GRACE_S = 2.0
#: Longest delay of a repeated propagation, in seconds.
PUT_OFF_S_MAX = PATIENCE_S * 2**PATIENCE_DOUBLINGS_MAX

_STOPPABLE = sql_list(*sorted(STOPPABLE))

# These three sort by a sum, which no index of their jobs has as its order. Otherwise Postgres might search for the
# first of a few among all jobs, in id order. The time is a subquery, here and below: Postgres cannot compare an index
# with a clock that it must read for each job. The running jobs are few, so their timeouts have no index.
_OVERDUE = f"""
SELECT id, saga_open FROM job
WHERE {TIME_LIMIT} <= (SELECT {NOW}) AND end_before <= (SELECT {NOW}) AND state IN ({_STOPPABLE})
  AND NOT (saga_open AND coalesce(abort_reason <> '{AbortReason.UNWANTED}', false))
ORDER BY id + 0 LIMIT %(limit)s
"""
_EXPIRE = move(EXPIRE, By.GROOMER, condition=f"NOT job.saga_open AND job.end_before <= {NOW}")

_TIMED_OUT = f"""
SELECT id FROM job WHERE state = '{State.RUNNING}' AND worker IS NOT NULL
  AND attempt_timeout_at <= (SELECT {NOW} - make_interval(secs => {GRACE_S}))
ORDER BY id + 0 LIMIT %(limit)s
"""
# Jobs that have also passed their ``end_before`` are left to ``expire``.
_STILL_LATE = f"job.attempt_timeout_at <= {NOW} AND {UNEXPIRED}"
_TIMEOUT = timeout_statements(By.GROOMER, condition=_STILL_LATE, work_is_over=False)

_LOST = f"""
SELECT job.id FROM job JOIN worker ON worker.id = job.worker
WHERE job.state = '{State.RUNNING}' AND worker.lease_until < {NOW} ORDER BY job.id + 0 LIMIT %(limit)s
"""
_STILL_LOST = f"EXISTS (SELECT 1 FROM worker WHERE worker.id = job.worker AND worker.lease_until < {NOW})"
# The round that ends now is not counted.
_RETAKEN = f"""
(SELECT {NOW} + make_interval(secs => least({RETAKE_S} * power(2, crashes - 1), {RETAKE_S_MAX}))
 FROM (SELECT {CRASHES} AS crashes) before WHERE crashes > 0)
"""
# A job that is taken back precedes all others with its priority, because none of them was due before it. Otherwise its
# notification would wait behind all notifications of the backlog.
_WAS_DUE = "coalesce(job.not_before, job.created_at)"
# A saga that has begun goes on where its journal ends, however often that happens. A saga that has cost several workers
# at the same place is likely to cost more.
_REQUEUE_LOST = move(
    REQUEUE,
    By.GROOMER,
    condition=f"{_STILL_LOST} AND (job.saga_open OR job.losses < job.max_losses)",
    sets="losses = job.losses + (NOT job.saga_open)::int, round = job.round + (NOT job.saga_open)::int, "
    f"not_before = coalesce({_RETAKEN}, job.not_before), "
    f"effective_deadline = least(job.effective_deadline, {_WAS_DUE})",
    note=f"'{Lost.LEASE_LOST}'",
)
_FAIL_LOST = move(
    FAIL_LOST,
    By.GROOMER,
    condition=f"{_STILL_LOST} AND NOT job.saga_open AND job.losses >= job.max_losses",
    sets="losses = job.losses + 1",
    note="'lease lost too often'",
)

# Two ranges of the index ``job_not_before``.
_IS_OPEN = f"state = '{State.WAITING}' AND unblocked AND NOT paused AND NOT waiting_for_slot"
_OPEN = " UNION ALL ".join(
    f"SELECT id, priority, effective_deadline, not_before, created_at FROM job WHERE {_IS_OPEN} AND not_before {time}"
    for time in ("IS NULL", f"<= (SELECT {NOW})")
)
_DUE = f"""
SELECT id FROM ({_OPEN}) due ORDER BY priority DESC, effective_deadline, {DUE}, id LIMIT %(limit)s
"""


def _announced_before(patience_s: float | str) -> str:
    """Return the condition that a job was announced longer ago than this, doubled with each announcement so far."""
    return f"""
    dispatched_at < {NOW} - make_interval(
        secs => {patience_s} * power(2, least(dispatch_attempts, {PATIENCE_DOUBLINGS_MAX})))
    """


_FORGOTTEN = _announced_before(PATIENCE_S)
_ANNOUNCE = {
    state: f"""
    UPDATE job SET dispatched_at = {NOW}, dispatch_attempts = least(dispatch_attempts + 1, 100)
    WHERE id = ANY(ARRAY(
        SELECT id FROM job WHERE state = '{state}' AND ({_FORGOTTEN} OR dispatched_at < %(before)s::timestamptz)
          AND (%(apps)s::text[] IS NULL OR app = ANY(%(apps)s))
        ORDER BY dispatched_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED))
    RETURNING {READY_COLUMNS}
    """
    for state in (State.READY, State.EXECUTED)
}
# Claims take the first ready jobs of an app, so the job of a lost notification is soon among them. Collations: as in
# index job_urgency.
_LATE = f"""
SELECT asked.app FROM unnest(%(apps)s::text[]) AS asked (app) WHERE EXISTS (
    SELECT FROM (
        SELECT dispatched_at, dispatch_attempts FROM job
        WHERE job.app COLLATE "C" = asked.app AND job.state COLLATE "C" = '{State.READY}'
        ORDER BY {IN_TURN} LIMIT {FIRST_READY}) AS first
    WHERE {_announced_before("%(patience_s)s::float8")})
"""
_READY_COUNTS = f"""
SELECT asked.app, (SELECT count(*) FROM (
    SELECT FROM job WHERE job.app COLLATE "C" = asked.app AND job.state COLLATE "C" = '{State.READY}' LIMIT %(most)s
) AS ready) FROM unnest(%(apps)s::text[]) AS asked (app)
"""
_ANNOUNCE_IDLE = f"""
UPDATE job SET dispatched_at = {NOW}, dispatch_attempts = least(dispatch_attempts + 1, 100)
WHERE id = ANY(ARRAY(
    SELECT id FROM job WHERE app = ANY(%(apps)s) AND state = '{State.READY}' AND {_announced_before(IDLE_PATIENCE_S)}
    ORDER BY dispatched_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED))
RETURNING {READY_COLUMNS}
"""
_ANNOUNCE_FIRST = f"""
UPDATE job SET dispatched_at = {NOW}, dispatch_attempts = least(dispatch_attempts + 1, 100)
WHERE id = ANY(ARRAY(
    SELECT id FROM unnest(%(apps)s::text[]) AS asked (app) CROSS JOIN LATERAL (
        SELECT id, dispatched_at, dispatch_attempts FROM job
        WHERE job.app COLLATE "C" = asked.app AND job.state COLLATE "C" = '{State.READY}'
        ORDER BY {IN_TURN} LIMIT 1 FOR UPDATE SKIP LOCKED) AS first
    WHERE {_announced_before(IDLE_PATIENCE_S)} ORDER BY dispatched_at LIMIT {RESTING_APPS_MAX}))
RETURNING {READY_COLUMNS}
"""
_OWED = f"""
SELECT job FROM propagation_outbox WHERE since < {NOW} - make_interval(secs => {GRACE_S}) ORDER BY since LIMIT %(limit)s
"""
# Each repetition delays the next by the time since the end of the job. Otherwise a planner that is behind would get its
# whole backlog again in every tick, and never catch up.
_TELL_AGAIN = f"""
UPDATE propagation_outbox SET since = {NOW} + least({NOW} - job.changed_at, make_interval(secs => {PUT_OFF_S_MAX}))
FROM job WHERE job.id = propagation_outbox.job AND propagation_outbox.job = ANY(ARRAY(
    SELECT job FROM propagation_outbox WHERE since < {NOW} - make_interval(secs => {GRACE_S})
    ORDER BY since LIMIT %(limit)s FOR UPDATE SKIP LOCKED))
RETURNING propagation_outbox.job
"""
# A range of an index each: submissions that came long ago, and submissions that were put off until now. A CASE, so that
# Postgres expects many and reads them in the order of the index (see ``submissions.lock_pending``). Collation: as in
# index submission_put_off.
_LEFT_UNPLANNED = f"""
SELECT id, coalesce(next_plan_at, received_at) AS since FROM submission
WHERE state = '{SubmissionState.RECEIVED}'
  AND received_at < (SELECT greatest({NOW} - make_interval(secs => {GRACE_S}), %(before)s::timestamptz))
  AND CASE WHEN paused_at IS NULL THEN next_plan_at IS NULL OR received_at < %(before)s::timestamptz END
ORDER BY received_at, number LIMIT %(limit)s
"""
_PUT_OFF = f"""
SELECT id, next_plan_at AS since FROM submission
WHERE state COLLATE "C" = '{SubmissionState.RECEIVED}' AND next_plan_at <= (SELECT {NOW})
  AND CASE WHEN paused_at IS NULL THEN true END
ORDER BY next_plan_at LIMIT %(limit)s
"""
# In the order in which they are due, so that submissions that are put off repeatedly do not keep others from their
# turn.
_UNPLANNED_IN_NO_HAND = f"""
WITH left_unplanned AS MATERIALIZED ({_LEFT_UNPLANNED} FOR KEY SHARE SKIP LOCKED),
     put_off AS MATERIALIZED ({_PUT_OFF} FOR KEY SHARE SKIP LOCKED)
SELECT id FROM (SELECT * FROM left_unplanned UNION SELECT * FROM put_off) AS due ORDER BY since LIMIT %(limit)s
"""


class Chore(StrEnum):
    """Chore that may be due in a tick."""

    EXPIRE = "expire"
    TIME_OUT = "time_out"
    TAKE_LOST = "take_lost"
    DELIVER_EVENTS = "deliver_events"
    RESUME_LATE = "resume_late"
    PROPAGATE = "propagate"
    PLAN = "plan"
    MAKE_READY = "make_ready"
    ADMIT = "admit"
    ANNOUNCE_READY = "announce_ready"
    ANNOUNCE_IDLE = "announce_idle"
    ANNOUNCE_EXECUTED = "announce_executed"
    POLL = "poll"
    EVALUATE_BREAKERS = "evaluate_breakers"
    UPDATE_RATE_LIMITS = "update_rate_limits"
    SETTLE = "settle"
    FORGET_ATTEMPTS = "forget_attempts"
    MARK_LATE = "mark_late"


def _has_late(state: State, patience_s: float) -> str:
    """Return a query for a job in this state that is due for another announcement, by a range of an index."""
    return f"""
    SELECT 1 FROM job WHERE state = '{state}' AND {_announced_before(patience_s)}
      AND dispatched_at < (SELECT {NOW} - make_interval(secs => {patience_s}))
    """


_SIGNS = {
    Chore.EXPIRE: _OVERDUE,
    Chore.TIME_OUT: _TIMED_OUT,
    Chore.TAKE_LOST: _LOST,
    Chore.DELIVER_EVENTS: KEPT_EARLY,
    Chore.RESUME_LATE: LATE,
    Chore.PROPAGATE: _OWED,
    Chore.PLAN: f"({_LEFT_UNPLANNED}) UNION ALL ({_PUT_OFF})",
    Chore.MAKE_READY: _DUE,
    Chore.ADMIT: FREE,
    Chore.ANNOUNCE_READY: _has_late(State.READY, PATIENCE_S),
    Chore.ANNOUNCE_IDLE: _has_late(State.READY, IDLE_PATIENCE_S),
    Chore.ANNOUNCE_EXECUTED: _has_late(State.EXECUTED, PATIENCE_S),
    Chore.EVALUATE_BREAKERS: breakers.IS_DUE,
    Chore.POLL: f"SELECT 1 FROM job WHERE next_poll_at <= (SELECT {NOW})",
    Chore.SETTLE: UNWATCHED_LATELY,
    Chore.FORGET_ATTEMPTS: SETTLED,
    Chore.MARK_LATE: LATE_JOBS,
}
#: Condition that a chore is due that is worth a tick.
IS_DUE = " OR ".join(f"EXISTS ({sign})" for sign in _SIGNS.values())
#: Query with a row if an app has a rate limit.
HAS_RATE_LIMITS = "SELECT 1 FROM rate_limit"
# The groomer has the definitions. A breaker or rate limit may differ there from the ledger, so each of them makes the
# chore due.
_LOOKED_FOR = _SIGNS | {
    Chore.EVALUATE_BREAKERS: "SELECT 1 FROM breaker UNION ALL SELECT 1 FROM breaker_event",
    Chore.UPDATE_RATE_LIMITS: f"{HAS_RATE_LIMITS} UNION ALL SELECT 1 FROM rate_start",
}
_LOOK = "SELECT " + ", ".join(f"EXISTS ({sign})" for sign in _LOOKED_FOR.values())


class TakenBack(NamedTuple):
    """Jobs with runs that were taken from their workers: ``requeued`` jobs wait again, ``ended`` jobs are over."""

    requeued: list[int]
    ended: list[int]


def due(tx: Tx) -> set[Chore]:
    """Return the chores that are due. This takes a single statement, so an idle tick is cheap."""
    found = tx.rows(_LOOK, limit=1, before=None)[0]
    return {chore for chore, is_due in zip(_LOOKED_FOR, found, strict=True) if is_due}


def expire(tx: Tx, limit: int) -> list[int]:
    """End jobs that have passed their ``end_before``; their propagation is owed. A saga that began is undone first."""
    overdue = tx.rows(_OVERDUE, limit=limit)
    ended = move_out(tx, _EXPIRE, jobs=[id for id, _ in overdue])
    interrupt(tx, ended, EXPIRE.target)
    add_to_outbox(tx, ended)
    if saga_open := [id for id, flies in overdue if flies]:
        abort(tx, By.GROOMER, saga_open, AbortReason.EXPIRED)
    return ended


def time_out(tx: Tx, limit: int) -> list[int]:
    """Take back runs past their timeout that their worker has not ended; return the jobs without tries left."""
    late = tx.column(_TIMED_OUT, limit=limit)
    return _take_back(tx, late, Lost.TIMED_OUT, _TIMEOUT.requeue, _TIMEOUT.time_out).ended


def take_lost(tx: Tx, limit: int) -> TakenBack:
    """Take back the runs of workers with a lease that has ended."""
    lost = tx.column(_LOST, limit=limit)
    return _take_back(tx, lost, Lost.LEASE_LOST, _REQUEUE_LOST, _FAIL_LOST)


def make_due_ready(tx: Tx, limit: int) -> list[ReadyJob]:
    """Release the waiting jobs that have become due."""
    return make_ready(tx, By.GROOMER, sorted(tx.column(_DUE, limit=limit)))


def announce_ready(
    tx: Tx, limit: int, *, before: datetime | None = None, apps: Collection[str] | None = None
) -> list[ReadyJob]:
    """Return ready jobs that are due for another announcement, and count them as announced.

    Their last announcement had no effect, or is older than ``before``. Without ``apps``, jobs of all apps count.
    """
    among = None if apps is None else sorted(apps)
    return [ReadyJob(*row) for row in tx.rows(_ANNOUNCE[State.READY], limit=limit, before=before, apps=among)]


def ready_counts(tx: Tx, apps: Collection[str], most: int) -> dict[str, int]:
    """Return how many jobs of each app are ready, counting up to ``most``."""
    return dict(tx.rows(_READY_COUNTS, apps=sorted(apps), most=most))


def late_apps(tx: Tx, apps: Collection[str], *, patience_s: float) -> list[str]:
    """Return the apps with a ready job that was announced longer ago than this, among the first ready jobs of each."""
    return tx.column(_LATE, apps=sorted(apps), patience_s=patience_s)


def announce_idle(tx: Tx, limit: int, apps: Collection[str]) -> list[ReadyJob]:
    """Announce ready jobs of apps with idle workers again, except jobs that were announced just now."""
    return [ReadyJob(*row) for row in tx.rows(_ANNOUNCE_IDLE, limit=limit, apps=sorted(apps))]


def announce_first(tx: Tx, apps: Collection[str]) -> list[ReadyJob]:
    """Announce the first ready job of each of these apps again, unless it was announced just now."""
    return [ReadyJob(*row) for row in tx.rows(_ANNOUNCE_FIRST, apps=sorted(apps))]


def announce_executed(tx: Tx, limit: int, *, before: datetime | None = None) -> list[int]:
    """Return executed jobs that are due for another announcement, and count them as announced.

    They were announced and not judged since, or their announcement is older than ``before``.
    """
    return tx.column(_ANNOUNCE[State.EXECUTED], limit=limit, before=before, apps=None)


def overdue_propagations(tx: Tx, limit: int) -> list[int]:
    """Return ended jobs with an overdue propagation, and put off its repetition: the longer overdue, the later."""
    return sorted(tx.column(_TELL_AGAIN, limit=limit))


def overdue_submissions(tx: Tx, limit: int, *, before: datetime | None = None) -> list[str]:
    """Return submissions that no planner has planned or is planning: they came by SQL, or their planner died."""
    return tx.column(_UNPLANNED_IN_NO_HAND, limit=limit, before=before)


def _take_back(tx: Tx, jobs: list[int], ending: Lost, requeue: str, end: str) -> TakenBack:
    requeued = move_out(tx, requeue, jobs=jobs)
    ended = move_out(tx, end, jobs=jobs)
    interrupt(tx, requeued + ended, ending)
    add_to_outbox(tx, ended)
    return TakenBack(requeued, ended)
