"""Which jobs a hint is for: as many as it names, of the same app, but the most urgent there are. Whoever knows that
they take next to nothing may take more.

A queue hands its messages out in the order they came. So a job that is more urgent than others that were announced
before it *overtakes*: the next hint for any job of its app takes it. So does one whose time to start came before that
of another, of two that have such a time and are equally urgent. The job that had to give way stays ready,
and the hint of the one that overtook, which will not find that any more, takes whoever is the most urgent then.

What holds: a hint for n jobs takes n at least wherever so many are to be had. So the hints that were sent suffice for
the jobs that are ready, in whatever order they arrive; one too many costs a look-up. A job that is ``alone`` is apart:
it takes no place where several are taken, and its own hint is for nobody else while it is ready. If it is more urgent
than all that a hint for several would take, that hint takes it alone, and the jobs it names are announced again: a job
of a lost worker does not wait for a whole backlog.

Who races whom: two hints for jobs of one app. Each locks those it names, in id order, and waits for them. It takes
others only after that, and passes over the locked ones: whoever holds one is about to take it. So two hints never
wait for each other in a circle, and nobody queues for a job that was not announced to him. If whoever holds the last
job there is lets it go after all, a hint was spent for nothing: the groomer repeats it like one that was lost.
"""

from collections.abc import Mapping, Sequence

from sluice.jobs.states import CLAIM, State
from sluice.jobs.urgency import in_turn
from sluice.ledger.connection import Tx, arrays
from sluice.ledger.release import ALONE, READY_COLUMNS, UNEXPIRED, Ready
from sluice.ledger.sql import IN_TURN, guard

# The one that a breaker lets through alone: no other may take its place.
_IS_TRIAL = "EXISTS (SELECT 1 FROM app_pause WHERE app_pause.app = job.app AND app_pause.trial = job.id)"
_COLUMNS_OF_NAMED = READY_COLUMNS.replace(ALONE, f"({ALONE} OR {_IS_TRIAL})")
_HOLD = f"""
SELECT {_COLUMNS_OF_NAMED} FROM job
JOIN unnest(%(jobs)s::bigint[], %(rounds)s::int[]) AS given (id, turn) USING (id)
WHERE {guard(CLAIM)} AND job.round = given.turn AND {UNEXPIRED}
ORDER BY job.id FOR UPDATE OF job
"""
# A walk along the index job_urgency. The collation is that index's and no other's, so that none else can serve: see
# the index.
_READY = f"""
SELECT {READY_COLUMNS} FROM job
WHERE job.app COLLATE "C" = %(app)s AND job.state COLLATE "C" = '{State.READY}'
  AND {UNEXPIRED} AND (%(alone)s OR NOT {ALONE}) AND job.id <> ALL(%(held)s::bigint[])
"""
_FIRST = f"ORDER BY {IN_TURN} LIMIT %(most)s"
_ANY = f"{_READY} {_FIRST}"
# Two ranges of it, and one of the index job_start, which mostly are empty. As one comparison of rows Postgres before 18
# reads all equals to the end.
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
    """Those of the jobs that are to be had at these rounds, held for this transaction."""
    return [Ready(*row) for row in tx.rows(_HOLD, **arrays(turns, "jobs", "rounds"))]


def choose(tx: Tx, app: str, named: Sequence[Ready], places: int, at_once: int) -> list[Ready]:
    """The jobs to take for a hint that names so many and of these jobs what is to be had, or for so many ``at_once``:
    locked, the most urgent first. Those named this transaction holds, or has just opened the gates of.

    If a job that must be alone is more urgent than all of several, it is taken in their place."""
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
    """Lock and return the app's most urgent ready job, if it must be alone and is more urgent than those named."""
    among = {"app": app, "held": [job.job for job in named], "alone": True, "most": 1}
    first = [Ready(*row) for row in tx.rows(_ANY, **among)]
    if not any(job.alone and _goes_before_all(job, named) for job in first):
        return []
    taken = [Ready(*row) for row in tx.rows(_TAKE, **among)]
    return [job for job in taken if job.alone and _goes_before_all(job, named)]


def _goes_before_all(job: Ready, named: Sequence[Ready]) -> bool:
    return all(job.urgency < other.urgency for other in named)


def _look(tx: Tx, named: Sequence[Ready], most: int, among: Mapping[str, object]) -> list[Ready]:
    """Who else is ready, the most urgent first: anybody for a vacant place, else those who may overtake. Not locked."""
    if len(named) < most:
        return [Ready(*row) for row in tx.rows(_ANY, **among, most=most)]
    least = max(named, key=in_turn)
    rows = tx.rows(
        _MORE_URGENT, **among, rank=-least.priority, by=least.urgent_by, start=least.not_before, most=most
    )
    return sorted((Ready(*row) for row in rows), key=in_turn)[:most]


def _open_places(named: Sequence[Ready], others: list[Ready], places: int) -> int:
    """How many of the others are to be taken. No more are locked, or other hints would pass over them in vain.

    Vacant places go first; then the most urgent of the others against the least urgent of the named, pair by pair.
    """
    vacant = min(places - len(named), len(others))
    giving_way = sorted(named, key=in_turn, reverse=True)
    overtaking = zip(others[vacant:], giving_way, strict=False)
    return vacant + sum(_overtakes(other, own) for other, own in overtaking)


def _overtakes(other: Ready, own: Ready) -> bool:
    if other.urgency != own.urgency or other.not_before is None or own.not_before is None:
        return other.urgency < own.urgency
    return other.not_before < own.not_before
