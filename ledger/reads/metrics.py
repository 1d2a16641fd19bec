"""What is measured all the time, for whoever comes by every few seconds to read it.

What holds: nothing here looks at the jobs one by one. It is read from what has been counted (``ledger.tallies``), with
what has not yet added where that costs nothing, and from indexes that have few entries.
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

#: A worker whose lease ended longer ago is told of no more.
LOST_S = 3600.0

# What is counted, and what is not: one statement, so both are of one snapshot, and no number ever falls.
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
    """How long jobs stayed in a state: ``within`` are how many no longer than each of ``BUCKETS_S``, and at last all of
    them; ``seconds`` are those of all together."""

    within: list[int]
    seconds: float


class Crew(Struct, frozen=True):
    """``lost`` are those whose lease has ended within the last hour though they have not left."""

    alive: int
    lost: int
    threads: int
    busy: int


def entered(tx: Tx) -> Mapping[tuple[str, str], int]:
    """By app and state, how often a job came into it."""
    return {(app, state): times for app, state, times in tx.rows(_ENTERED)}


def stays(tx: Tx) -> Mapping[tuple[str, str], Stays]:
    """By app and state, as far as they are counted."""
    found: dict[tuple[str, str], tuple[list[int], float]] = {}
    for app, state, bucket, many, seconds in tx.rows(_STAYS):
        counts, sum_s = found.get((app, state), ([0] * (len(BUCKETS_S) + 1), 0.0))
        counts[bucket] += many
        found[app, state] = counts, sum_s + seconds
    return {named: Stays([*accumulate(counts)], sum_s) for named, (counts, sum_s) in found.items()}


class Troubles(Struct, frozen=True):
    """``repairs`` are by kind: runs that the groomer took from their worker or ended, and hints that it repeated."""

    lease_losses: int
    refused: int
    repairs: Mapping[str, int]


#: The groomer's chores whose steps the history tells.
_IN_THE_HISTORY = {
    (REQUEUE.name, Lost.LEASE_LOST): Chore.TAKE_LOST,
    (GIVE_UP.name, ""): Chore.TAKE_LOST,
    (REQUEUE.name, Lost.TIMED_OUT): Chore.TIME_OUT,
    (TIME_OUT.name, ""): Chore.TIME_OUT,
    (EXPIRE.name, ""): Chore.EXPIRE,
}
#: All kinds of repairs there are: those, and hints that nothing had come of.
REPAIRS = (
    *(Chore.TAKE_LOST, Chore.TIME_OUT, Chore.EXPIRE),
    *(Chore.ANNOUNCE_READY, Chore.ANNOUNCE_EXECUTED, Chore.TELL, Chore.PLAN, Chore.SETTLE),
)


def troubles(tx: Tx) -> Troubles:
    """As far as they are counted."""
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
    """By how much the latest schedule is late; 0 where none is."""
    return float(tx.column(_LATE)[0])


def breakers(tx: Tx) -> Mapping[str, bool]:
    """By app, of those that have one, whether it is open."""
    return dict(tx.rows(_BREAKERS))
