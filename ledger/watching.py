"""Work elsewhere that no worker looks after: when somebody is to look, and what he saw.

There are two kinds. Of a job that runs without a worker, the work goes on until it is stopped (``job.unbounded``). Of a
job that is over, with a handle, the work is still to be ended. Both have a ``watch_at``, and nothing else has.

What holds: ``watch_at`` lies ahead, or the next tick sends a hint for a look and moves it on, farther each time that
nothing comes of it. A look is taken by one: ``announcements`` counts the hints since the last, and whoever takes it
sets it to zero, so a doubled hint finds nothing to take. If he dies, the look is due again after ``TERM_S``. None of
that changes a state. What ends a round is recorded like any outcome, under its claim; all else is written only while
the work is what it was when the look was taken: of the same claim, and of a job that runs, or that is over.

Who races whom: a look against a cancellation. Either the cancellation finds the round ended, or what the look
brings is refused, and the next one ends the work. A plan against ``leave``: as with a claim (``counts``), those who
wait for the job to run are looked for in a statement after the one that says that its work is started.
"""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from sluice.jobs.outcome import KEPT_BYTES
from sluice.jobs.ref import Claim, JobName
from sluice.jobs.states import LIVE, TERMINAL, State, sql_list
from sluice.jobs.submission import JSON
from sluice.ledger.connection import Tx, arrays
from sluice.ledger.grooming import PATIENCE_DOUBLINGS_MAX, PATIENCE_S
from sluice.ledger.sql import NOW

#: Whoever takes a look has so long to say what he saw.
TERM_S = 30.0
#: After looks that failed the next is put off, by twice as long each time, up to this.
PAUSE_S_MAX = 3600.0
_DOUBLINGS_MAX = 20
#: How often is looked whether work that is to be ended has been, where it was never said.
_WATCH_S = 1.0

_LIVE = sql_list(*sorted(LIVE))
_ALONE = f"job.state = '{State.RUNNING}' AND job.worker IS NULL"
_LEFT_OVER = f"job.state NOT IN ({_LIVE})"

# Said twice, it writes the same down: a commit of unknown outcome is run again.
_LEAVE = f"""
WITH written AS (
    UPDATE round SET output = nullif(%(said)s, '') WHERE job = %(job)s AND claim = %(claim)s AND ending IS NULL
)
UPDATE job SET handle = %(handle)s::jsonb, worker = NULL, deadline = NULL, watch_s = %(watch_s)s,
    watch_at = {NOW} + make_interval(secs => %(watch_s)s), misses = 0, announcements = 0, said = NULL
WHERE id = %(job)s AND state = '{State.RUNNING}' AND claim = %(claim)s
"""
_AWAITED = """
SELECT DISTINCT parent FROM need WHERE parent = %(job)s AND condition = 'running' AND settled IS NULL
"""
_SEND = f"""
UPDATE job SET announcements = least(announcements + 1, 100), watch_at = {NOW} + make_interval(secs => greatest(
    watch_s, {PATIENCE_S} * power(2, least(announcements, {PATIENCE_DOUBLINGS_MAX}))))
WHERE id IN (SELECT id FROM job WHERE watch_at <= {NOW} ORDER BY watch_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
RETURNING id, app
"""
_TAKE = f"""
WITH held AS MATERIALIZED (
    SELECT id FROM job WHERE id = ANY(%(jobs)s) AND app = %(app)s AND watch_at IS NOT NULL AND announcements > 0
    ORDER BY id FOR UPDATE
)
UPDATE job SET announcements = 0, watch_at = {NOW} + make_interval(secs => {TERM_S})
FROM held WHERE job.id = held.id
RETURNING job.id, app, key, claim, state, handle, misses
"""
_SEEN = (
    "unnest(%(jobs)s::bigint[], %(claims)s::bigint[], %(watch_s)s::float8[], %(said)s::text[],"
    " %(lines)s::text[], %(over)s::bool[]) AS seen (id, claim, watch_s, said, line, over)"
)
_HELD = f"""
SELECT job.id FROM job JOIN {_SEEN} USING (id, claim) WHERE job.watch_at IS NOT NULL ORDER BY job.id FOR UPDATE OF job
"""
_GOES_ON = f"""
UPDATE job SET misses = 0, watch_s = seen.watch_s,
    said = CASE WHEN job.misses > 0 THEN seen.said ELSE coalesce(seen.said, job.said) END,
    watch_at = {NOW} + make_interval(secs => seen.watch_s)
FROM {_SEEN} WHERE job.id = seen.id AND job.claim = seen.claim AND {_ALONE}
"""
_MISSED = f"""
UPDATE job SET misses = least(job.misses + 1, 1000), said = seen.said,
    watch_at = {NOW} + make_interval(secs => least({PAUSE_S_MAX},
        coalesce(job.watch_s, {_WATCH_S}) * power(2, least(job.misses + 1, {_DOUBLINGS_MAX}))))
FROM {_SEEN} WHERE job.id = seen.id AND job.claim = seen.claim AND job.watch_at IS NOT NULL
    AND CASE WHEN seen.over THEN {_LEFT_OVER} ELSE {_ALONE} END
"""
# What was said before is not said again: of a job that is asked every second, the last line would be all there is.
_WRITE_DOWN = f"""
UPDATE round SET output = right(concat(round.output, seen.line), {KEPT_BYTES})
FROM {_SEEN} JOIN job ON job.id = seen.id
WHERE round.job = seen.id AND round.claim = seen.claim AND job.watch_at IS NOT NULL
    AND job.said IS DISTINCT FROM seen.said
"""


class Watched(Struct, frozen=True):
    """Work to look at: how it stands, or, where the job is over, to end it. ``misses`` looks in a row have failed."""

    id: int
    app: str
    key: str
    claim: int
    state: State
    handle: JSON
    misses: int

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)

    @property
    def right(self) -> Claim:
        return Claim(self.id, self.claim)

    @property
    def is_over(self) -> bool:
        return self.state in TERMINAL


class Seen(Struct, frozen=True, kw_only=True):
    """What a look came to that ended nothing. ``missed``: it failed, and ``said`` is why. The ``line`` is for the
    output of the round, unless the same was said the last time. ``is_over`` as it was when the look was taken."""

    right: Claim
    is_over: bool
    watch_s: float = _WATCH_S
    missed: bool = False
    said: str | None = None
    line: str = ""


def leave(tx: Tx, right: Claim, handle: JSON, *, watch_s: float, said: str = "") -> bool:
    """Store what the claim has started, and leave it to the looks. False: the claim does not stand any more."""
    written = msgspec.json.encode(handle).decode()
    named = {"job": right.job, "claim": right.number}
    return bool(tx.write(_LEAVE, **named, handle=written, watch_s=watch_s, said=said))


def awaited(tx: Tx, right: Claim) -> list[int]:
    """The job, if somebody waits for it to run."""
    return tx.column(_AWAITED, job=right.job)


def send(tx: Tx, limit: int) -> dict[str, list[int]]:
    """The jobs that are to be looked at now, by app; they count as announced."""
    jobs: dict[str, list[int]] = {}
    for id, app in tx.rows(_SEND, limit=limit):
        jobs.setdefault(app, []).append(id)
    return jobs


def take(tx: Tx, app: str, jobs: list[int]) -> list[Watched]:
    """Those of the jobs that nobody has looked at since they were announced: they are the caller's to look at."""
    return tx.structs(Watched, _TAKE, app=app, jobs=jobs)


def note(tx: Tx, seen: Iterable[Seen]) -> None:
    """Write down looks that ended nothing. What has moved on since is left as it is."""
    seen = list(seen)
    if not seen:
        return
    tx.rows(_HELD, **_columns(seen))
    tx.write(_WRITE_DOWN, **_columns([each for each in seen if each.said]))
    tx.write(_GOES_ON, **_columns([each for each in seen if not each.missed]))
    tx.write(_MISSED, **_columns([each for each in seen if each.missed]))


def _columns(seen: list[Seen]) -> dict[str, list[object]]:
    rows = [(*each.right, each.watch_s, each.said, each.line, each.is_over) for each in seen]
    return arrays(rows, "jobs", "claims", "watch_s", "said", "lines", "over")
