"""Metrics that a monitoring system reads every few seconds.

No query reads the jobs one by one. They use the counts of ``ledger.tallies``, add transitions that are not counted yet
if that costs nothing, and read indexes that have few entries.
"""

from collections.abc import Mapping
from itertools import accumulate

from msgspec import Struct

from sluice.jobs.history import Lost
from sluice.jobs.states import EXPIRE, GIVE_UP, REQUEUE, TIME_OUT, By, State
from sluice.ledger.connection import Tx
from sluice.ledger.grooming import Chore
from sluice.ledger.happenings import What, happened
from sluice.ledger.reads.standing import UNCOUNTED
from sluice.ledger.sql import NOW
from sluice.ledger.tallies import BUCKETS_S

#: Seconds for which a lost worker is reported after the end of its lease.
LOST_S = 3600.0

# Counted and uncounted transitions are read in one statement. Both are of one snapshot, so no number ever falls.
_ENTERED = f"""
SELECT app, state, sum(entered)::bigint FROM (
    SELECT app, state, entered FROM tally
    UNION ALL SELECT job.app, step.target, 1 FROM {UNCOUNTED}
) entry GROUP BY 1, 2 HAVING sum(entered) > 0 ORDER BY 1, 2
"""
_STAYS = "SELECT app, state, bucket, stays, seconds FROM tally_stay ORDER BY app, state, bucket"
_STEPS = "SELECT verb, by, lost, steps FROM tally_verb"
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

_BREAKERS = """
SELECT app, app_pause.until IS NOT NULL FROM breaker LEFT JOIN app_pause USING (app) ORDER BY app
"""


class Stays(Struct, frozen=True):
    """Durations for which jobs stayed in a state. ``within`` has the number of stays up to each of ``BUCKETS_S``, and
    last the number of all stays. ``seconds`` is the sum of all."""

    within: list[int]
    seconds: float


class Crew(Struct, frozen=True):
    """Numbers of workers and threads. ``lost`` workers have not left, but their lease ended within the last hour."""

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
    (GIVE_UP.name, ""): Chore.TAKE_LOST,
    (REQUEUE.name, Lost.TIMED_OUT): Chore.TIME_OUT,
    (TIME_OUT.name, ""): Chore.TIME_OUT,
    (EXPIRE.name, ""): Chore.EXPIRE,
}
#: All kinds of repairs: these, and notifications that had no effect and were repeated.
REPAIRS = (
    *(Chore.TAKE_LOST, Chore.TIME_OUT, Chore.EXPIRE),
    *(Chore.ANNOUNCE_READY, Chore.ANNOUNCE_EXECUTED, Chore.TELL, Chore.PLAN, Chore.SETTLE),
)


def troubles(tx: Tx) -> Troubles:
    """Return the counters of problems, as far as they are counted."""
    repairs: dict[str, int] = {}
    for verb, by, lost, steps in tx.rows(_STEPS):
        kind = _IN_THE_HISTORY.get((verb, lost))
        if by == By.GROOMER and kind:
            repairs[kind] = repairs.get(kind, 0) + steps
    found = happened(tx)
    hints = {kind: times for (what, kind), times in found.items() if what == What.REPAIRED}
    return Troubles(
        lease_losses=repairs.get(Chore.TAKE_LOST, 0),
        refused=found.get((What.REFUSED, ""), 0),
        repairs=repairs | hints,
    )


def crew(tx: Tx) -> Crew:
    return Crew(*tx.rows(_WORKERS)[0])


def schedule_late_s(tx: Tx) -> float:
    """Return by how many seconds the latest schedule is late; 0 if none is."""
    return float(tx.column(_LATE)[0])


def breakers(tx: Tx) -> Mapping[str, bool]:
    """Return, for each app that has a breaker, whether it is open."""
    return dict(tx.rows(_BREAKERS))
