"""Metrics, counts of jobs by state, and present states of watched jobs.

- Metrics: a monitoring system reads them every few seconds.
- Counts: the present number of jobs of each app in each state (``standing``), and the transitions of each minute
  (``minutes``).
- Present states of several jobs (``job_standings``) and submissions (``submission_standings``), for clients that watch
  them: a look-up by key for each, in one statement.

No query of the metrics reads the jobs one by one. They use the counts of ``ledger.stats.state_counts``, add transitions
that are not counted yet if that costs nothing, and read indexes that have few entries.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import accumulate

from msgspec import Struct

from sluice.jobs.model.history import Lost
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import EXPIRE, FAIL_LOST, REQUEUE, TIME_OUT, By, State
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.transitions import NOW
from sluice.ledger.reads.submission_progress import Share, shares
from sluice.ledger.recovery.groomer_steps import Chore
from sluice.ledger.stats.event_counters import CounterName, happened
from sluice.ledger.stats.state_counts import BUCKETS_S, SIDES, UNCOUNTED

_STANDING = f"""
SELECT app, state, sum(jobs)::bigint FROM ({SIDES}) side GROUP BY 1, 2 HAVING sum(jobs) <> 0 ORDER BY 1, 2
"""
# Each bound is a subquery, because an index cannot be searched by a volatile expression. With both bounds, Postgres
# expects few rows.
_MINUTES = f"""
SELECT minute, app, state, sum(entered)::bigint AS entered FROM (
    SELECT minute, app, state, entered FROM state_count_minute
    WHERE minute > (SELECT date_trunc('minute', {NOW}, 'UTC') - make_interval(mins => %(minutes)s))
      AND minute <= (SELECT {NOW})
    UNION ALL SELECT date_trunc('minute', step.at, 'UTC'), job.app, step.target, 1 FROM {UNCOUNTED}
) entry WHERE state = ANY(%(states)s)
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""


class Minute(Struct, frozen=True):
    """Number of times that jobs of the app entered the state within the minute that begins at ``minute``."""

    minute: datetime
    app: str
    state: State
    entered: int


def standing(tx: Tx) -> Mapping[str, Mapping[State, int]]:
    """Return the number of jobs of each app by state."""
    apps: dict[str, dict[State, int]] = {}
    for app, state, jobs in tx.rows(_STANDING):
        apps.setdefault(app, {})[State(state)] = jobs
    return apps


def minutes(tx: Tx, count: int, states: tuple[State, ...]) -> list[Minute]:
    """Return the entries into these states during the last ``count`` minutes, including the present one."""
    return tx.structs(Minute, _MINUTES, minutes=count, states=[str(state) for state in states])


#: Seconds for which a lost worker is reported after the end of its lease: ten minutes, so that an alert about it ends
#: then.
LOST_S = 600.0

# Counted and uncounted transitions are read in one statement. Both are of one snapshot, so no number ever falls.
_ENTERED = f"""
SELECT app, state, sum(entered)::bigint FROM (
    SELECT app, state, entered FROM state_count
    UNION ALL SELECT job.app, step.target, 1 FROM {UNCOUNTED}
) entry GROUP BY 1, 2 HAVING sum(entered) > 0 ORDER BY 1, 2
"""
_STAYS = "SELECT app, state, bucket, stays, seconds FROM state_duration ORDER BY app, state, bucket"
_STEPS = "SELECT verb, by, lost, steps FROM transition_count"
_WORKERS = f"""
SELECT count(*) FILTER (WHERE alive), count(*) FILTER (WHERE NOT alive),
       coalesce(sum(threads) FILTER (WHERE alive), 0)::bigint,
       coalesce(sum(least(threads, running)) FILTER (WHERE alive), 0)::bigint
FROM (
    SELECT threads, lease_until > {NOW} AS alive,
           (SELECT count(*) FROM job WHERE job.worker = worker.id AND job.state = '{State.RUNNING}') AS running
    FROM worker WHERE left_at IS NULL AND lease_until > {NOW} - make_interval(secs => {LOST_S})
) known
"""
_LATE = f"""
SELECT coalesce(extract(epoch FROM max({NOW} - fire_at)), 0)::float8 FROM schedule
WHERE retired_at IS NULL AND paused_at IS NULL AND fire_at < {NOW}
"""

#: Greatest number of submissions that are counted in each state.
SUBMISSIONS_MAX = 10_000
# Both states have a partial index. Ended submissions have none by state alone, and are not counted.
_OPEN_SUBMISSIONS = " UNION ALL ".join(
    f"SELECT '{state}', count(*)"
    f" FROM (SELECT 1 FROM submission WHERE state = '{state}' LIMIT {SUBMISSIONS_MAX}) {state}"
    for state in (SubmissionState.RECEIVED, SubmissionState.ACTIVE)
)

_BREAKERS = """
SELECT app, app_pause.until IS NOT NULL FROM breaker LEFT JOIN app_pause USING (app) ORDER BY app
"""


class Stays(Struct, frozen=True):
    """Durations for which jobs stayed in a state. ``within`` has the number of stays up to each of ``BUCKETS_S``, and
    last the number of all stays. ``seconds`` is the sum of all."""

    within: list[int]
    seconds: float


class WorkerCounts(Struct, frozen=True):
    """Numbers of workers and threads. ``lost`` workers have not left, but their lease ended within the last
    ten minutes."""

    alive: int
    lost: int
    threads: int
    busy: int


def entered(tx: Tx) -> Mapping[tuple[str, str], int]:
    """Return how often jobs entered each state, by app and state."""
    return {(app, state): times for app, state, times in tx.rows(_ENTERED)}


def stays(tx: Tx) -> Mapping[tuple[str, str], Stays]:
    """Return the durations of stays by app and state, as far as they are counted."""
    found: dict[tuple[str, str], tuple[list[int], float]] = {}
    for app, state, bucket, many, seconds in tx.rows(_STAYS):
        counts, sum_s = found.get((app, state), ([0] * (len(BUCKETS_S) + 1), 0.0))
        counts[bucket] += many
        found[app, state] = counts, sum_s + seconds
    return {named: Stays([*accumulate(counts)], sum_s) for named, (counts, sum_s) in found.items()}


class Troubles(Struct, frozen=True):
    """Counters of problems. ``repairs`` counts, by kind, the runs that the groomer took from their worker or ended, and
    the notifications that it repeated."""

    lease_losses: int
    refused: int
    repairs: Mapping[str, int]


#: Groomer's repairs that are visible as transitions, by verb and kind of loss.
_IN_THE_HISTORY = {
    (REQUEUE.name, Lost.LEASE_LOST): Chore.TAKE_LOST,
    (FAIL_LOST.name, ""): Chore.TAKE_LOST,
    (REQUEUE.name, Lost.TIMED_OUT): Chore.TIME_OUT,
    (TIME_OUT.name, ""): Chore.TIME_OUT,
    (EXPIRE.name, ""): Chore.EXPIRE,
}
#: All kinds of repairs: these, and notifications that had no effect and were repeated.
REPAIRS = (
    *(Chore.TAKE_LOST, Chore.TIME_OUT, Chore.EXPIRE),
    *(Chore.ANNOUNCE_READY, Chore.ANNOUNCE_EXECUTED, Chore.PROPAGATE, Chore.PLAN, Chore.SETTLE),
)


def troubles(tx: Tx) -> Troubles:
    """Return the counters of problems, as far as they are counted."""
    repairs: dict[str, int] = {}
    for verb, by, lost, steps in tx.rows(_STEPS):
        kind = _IN_THE_HISTORY.get((verb, lost))
        if by == By.GROOMER and kind:
            repairs[kind] = repairs.get(kind, 0) + steps
    found = happened(tx)
    repeated = {kind: times for (what, kind), times in found.items() if what == CounterName.REPAIRED}
    return Troubles(
        lease_losses=repairs.get(Chore.TAKE_LOST, 0),
        refused=found.get((CounterName.REFUSED, ""), 0),
        repairs=repairs | repeated,
    )


def crew(tx: Tx) -> WorkerCounts:
    return WorkerCounts(*tx.rows(_WORKERS)[0])


def schedule_late_s(tx: Tx) -> float:
    """Return by how many seconds the latest schedule is late; 0 if none is."""
    return float(tx.column(_LATE)[0])


def open_submissions(tx: Tx) -> Mapping[str, int]:
    """Return the number of submissions in each state in which they have not ended, up to ``SUBMISSIONS_MAX``."""
    return dict(tx.rows(_OPEN_SUBMISSIONS))


def breakers(tx: Tx) -> Mapping[str, bool]:
    """Return, for each app that has a breaker, whether it is open."""
    return dict(tx.rows(_BREAKERS))


_JOBS = f"""
SELECT job.app, job.key, job.state, job.round, job.changed_at,
       job.paused AND job.state = '{State.WAITING}' AS paused,
       (SELECT round.xmin::text FROM round WHERE round.job = job.id AND round.claim = job.claim) AS output_version
FROM unnest(%(apps)s::text[], %(keys)s::text[]) AS asked (app, key)
     CROSS JOIN LATERAL (SELECT * FROM job WHERE job.app = asked.app AND job.key = asked.key LIMIT 1) job
"""
_SUBMISSIONS = """
SELECT number, id, state, paused_at, ended_at, reason FROM submission WHERE id = ANY(%(ids)s)
"""


class JobStanding(Struct, frozen=True, kw_only=True):
    """Present state of a job. ``output_version`` changes when its last round ends, or has new output while it runs."""

    app: str
    key: str
    state: State
    round: int
    changed_at: datetime
    paused: bool
    output_version: str | None = None


class ProgressCounts(Struct, frozen=True, kw_only=True):
    """Number of jobs, number of ended jobs, and number of failed jobs among these. ``about``: the numbers are
    estimates."""

    total: int
    ended: int
    failed: int
    about: bool


class SubmissionStanding(Struct, frozen=True, kw_only=True):
    id: str
    state: SubmissionState
    paused_at: datetime | None
    ended_at: datetime | None
    reason: str | None
    progress: ProgressCounts


class _Row(Struct, frozen=True):
    number: int
    id: str
    state: SubmissionState
    paused_at: datetime | None
    ended_at: datetime | None
    reason: str | None


def job_standings(tx: Tx, names: Sequence[JobName]) -> list[JobStanding]:
    """Return the present states of the jobs that exist."""
    return tx.structs(JobStanding, _JOBS, **arrays(names, "apps", "keys")) if names else []


def submission_standings(
    tx: Tx, ids: Sequence[str], *, exact_max: int, probes: int
) -> list[SubmissionStanding]:
    """Return the present states of the submissions that exist. For ``exact_max`` and ``probes`` see ``shares``."""
    found = tx.structs(_Row, _SUBMISSIONS, ids=[*ids]) if ids else []
    known = shares(tx, [each.number for each in found], exact_max=exact_max, probes=probes)
    return [
        SubmissionStanding(
            id=each.id,
            state=each.state,
            paused_at=each.paused_at,
            ended_at=each.ended_at,
            reason=each.reason,
            progress=progress_of(known[each.number]),
        )
        for each in found
    ]


def progress_of(share: Share) -> ProgressCounts:
    return ProgressCounts(total=share.total, ended=share.ended, failed=share.failed, about=share.about)
