"""Selection of the jobs that a claim takes.

A notification names jobs, but the claim takes the same number of the most urgent ready jobs of that app. A worker that
knows that these jobs take next to no time may take more.

A queue delivers its messages in the order of sending. So a job that is more urgent than jobs announced earlier
*overtakes* them: the next notification for any job of its app takes it. Of two equally urgent jobs that both have a
start time, the job with the earlier start time overtakes too. The job that lost its place stays ready. The notification
of the job that overtook does not find that job any more, and takes the most urgent job of that moment.

Invariants: a notification for n jobs takes at least n if that many are available. So the notifications that were sent
suffice for the ready jobs, in whatever order they arrive. A superfluous notification costs a look-up.

A job that is ``alone`` is an exception. It never takes a place among several jobs. While it is ready, its own
notification takes no other job. If it is more urgent than all jobs that a notification for several would take, that
notification takes it alone, and the named jobs are announced again. So a job of a lost worker does not wait for a whole
backlog.

Race of two notifications for jobs of one app: each locks the jobs that it names, in id order, and waits for them. Only
then does it take other jobs, and it passes over locked jobs, because their holder is about to take them. So two
notifications never wait for each other in a circle, and none waits for a job that it does not name. If the holder of
the last available job does not take it after all, a notification was used up for nothing. The groomer repeats it like a
lost notification.
"""

from collections.abc import Mapping, Sequence

from sluice.jobs.states import CLAIM, State
from sluice.jobs.urgency import in_turn
from sluice.ledger.connection import Tx, arrays
from sluice.ledger.release import ALONE, READY_COLUMNS, UNEXPIRED, Ready
from sluice.ledger.sql import IN_TURN, guard

# The trial of a breaker: no other job may take its place.
_IS_TRIAL = "EXISTS (SELECT 1 FROM app_pause WHERE app_pause.app = job.app AND app_pause.trial = job.id)"
_COLUMNS_OF_NAMED = READY_COLUMNS.replace(ALONE, f"({ALONE} OR {_IS_TRIAL})")
_HOLD = f"""
SELECT {_COLUMNS_OF_NAMED} FROM job
JOIN unnest(%(jobs)s::bigint[], %(rounds)s::int[]) AS given (id, turn) USING (id)
WHERE {guard(CLAIM)} AND job.round = given.turn AND {UNEXPIRED}
ORDER BY job.id FOR UPDATE OF job
"""
# A scan along the index job_urgency. Only that index has this collation, so that Postgres can use no other. The index
# gives the reason.
_READY = f"""
SELECT {READY_COLUMNS} FROM job
WHERE job.app COLLATE "C" = %(app)s AND job.state COLLATE "C" = '{State.READY}'
  AND {UNEXPIRED} AND (%(alone)s OR NOT {ALONE}) AND job.id <> ALL(%(held)s::bigint[])
"""
_FIRST = f"ORDER BY {IN_TURN} LIMIT %(most)s"
_ANY = f"{_READY} {_FIRST}"
# Two ranges of that index, and one range of the index job_start; they are mostly empty. If they were written as one
# comparison of rows, Postgres before 18 would read all equal entries to the end.
_MORE_URGENT = f"""
({_READY} AND -job.priority < %(rank)s::int {_FIRST})
UNION ALL
({_READY} AND -job.priority = %(rank)s::int
    AND coalesce(job.urgent_by, 'infinity') < coalesce(%(by)s::timestamptz, 'infinity') {_FIRST})
UNION ALL
({_READY} AND -job.priority = %(rank)s::int
    AND coalesce(job.urgent_by, 'infinity') = coalesce(%(by)s::timestamptz, 'infinity')
    AND job.not_before < %(start)s::timestamptz
    ORDER BY -job.priority, coalesce(job.urgent_by, 'infinity'), job.not_before, job.id LIMIT %(most)s)
"""
_TAKE = f"{_ANY} FOR UPDATE SKIP LOCKED"


def hold(tx: Tx, turns: Sequence[tuple[int, int]]) -> list[Ready]:
    """Lock and return the jobs that can be claimed among these (job, round) pairs."""
    return [Ready(*row) for row in tx.rows(_HOLD, **arrays(turns, "jobs", "rounds"))]


def choose(tx: Tx, app: str, named: Sequence[Ready], places: int, at_once: int) -> list[Ready]:
    """Lock and return the jobs to take for a notification that names ``places`` jobs, the most urgent first.

    ``named`` are the named jobs that are available. This transaction holds them, or has just opened their dependency
    groups (gates). The number of jobs is at most ``places``, or ``at_once`` if that is more. If a job that must be
    alone is more urgent than all of several, it is taken in their place.
    """
    if places == 1 and any(job.alone for job in named):
        return [*named]
    most = max(places, at_once)
    if most > 1 and (alone := _alone_in_front(tx, app, named)):
        return alone
    among = {"app": app, "held": [job.job for job in named], "alone": most == 1}
    vacant = _open_places(named, _look(tx, named, most, among), most) if named else most
    taken = [Ready(*row) for row in tx.rows(_TAKE, **among, most=vacant)] if vacant else []
    return sorted([*named, *taken], key=in_turn)[:most]


def _alone_in_front(tx: Tx, app: str, named: Sequence[Ready]) -> list[Ready]:
    """Lock and return the app's most urgent ready job, if it must be alone and is more urgent than the named jobs."""
    among = {"app": app, "held": [job.job for job in named], "alone": True, "most": 1}
    first = [Ready(*row) for row in tx.rows(_ANY, **among)]
    if not any(job.alone and _goes_before_all(job, named) for job in first):
        return []
    taken = [Ready(*row) for row in tx.rows(_TAKE, **among)]
    return [job for job in taken if job.alone and _goes_before_all(job, named)]


def _goes_before_all(job: Ready, named: Sequence[Ready]) -> bool:
    return all(job.urgency < other.urgency for other in named)


def _look(tx: Tx, named: Sequence[Ready], most: int, among: Mapping[str, object]) -> list[Ready]:
    """Return other ready jobs without locks, the most urgent first; if no place is vacant, only more urgent jobs."""
    if len(named) < most:
        return [Ready(*row) for row in tx.rows(_ANY, **among, most=most)]
    least = max(named, key=in_turn)
    rows = tx.rows(
        _MORE_URGENT, **among, rank=-least.priority, by=least.urgent_by, start=least.not_before, most=most
    )
    return sorted((Ready(*row) for row in rows), key=in_turn)[:most]


def _open_places(named: Sequence[Ready], others: list[Ready], places: int) -> int:
    """Return how many of the others to take. If more were locked, other notifications would needlessly pass over them.

    Vacant places are filled first. Then the most urgent of the others are compared with the least urgent named jobs,
    pair by pair.
    """
    vacant = min(places - len(named), len(others))
    giving_way = sorted(named, key=in_turn, reverse=True)
    overtaking = zip(others[vacant:], giving_way, strict=False)
    return vacant + sum(_overtakes(other, own) for other, own in overtaking)


def _overtakes(other: Ready, own: Ready) -> bool:
    if other.urgency != own.urgency or other.not_before is None or own.not_before is None:
        return other.urgency < own.urgency
    return other.not_before < own.not_before
