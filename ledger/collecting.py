"""Collecting: what uncollected jobs have come to, and archiving them once somebody has it.

What holds: a job that is to be collected is uncollected from its end until ``archived_at`` is set. That is no state;
what it came to is. To run it again makes it uncollected again. A chunk that has failed and is about to be split has
not come to anything yet, and once it is split its halves are collected in its place.

Who races whom. Somebody reads what a job came to and archives it later, and meanwhile it may have been run again, or
archived by somebody else. So whoever archives shows what was seen: which end it was, by state, claim and time. A job
that stands otherwise is left alone. Rows are locked in id order. What a crash leaves: nothing, or an uncollected job
whose result is handed over once more.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from sluice.jobs.ref import JobName
from sluice.jobs.states import LIVE, REVIVABLE, REVIVE, SPLIT, State, sql_list
from sluice.jobs.submission import JSON, SubmissionState
from sluice.ledger.connection import Tx, arrays
from sluice.ledger.parts import divisible
from sluice.ledger.shared_kwargs import KWARGS
from sluice.ledger.sql import NOW

#: What may be collected. Of a job that was split its halves are.
COLLECTED = REVIVABLE

#: Whether somebody has still to collect it; the index ``job_uncollected`` is about these.
UNCOLLECTED = (
    "(job.collect AND job.archived_at IS NULL"
    f" AND job.state IN ({sql_list(*(state for state in State if state in COLLECTED))}))"
)
_COME_TO_AN_END = f"{UNCOLLECTED} AND NOT (job.{SPLIT.guard} AND {divisible('job')})"
# One state at a time, so that the index has them in the order of their ids, and a page costs what is on it: no other
# index has the order of ``id + 0``, whatever the statistics say. It is one statement, for the rounds have to be those
# of the end that is told of: of the job's present life, that is.
_FINISHED = f"""
SELECT job.id, job.app, job.key, job.state, job.claim, job.changed_at AS ended_at,
       coalesce({KWARGS}, '{{}}') AS kwargs,
       ARRAY(
           SELECT json_build_object(
               'round', round.round, 'claim', round.claim, 'ending', round.ending, 'exit_code', round.exit_code,
               'output', round.output, 'stderr', round.stderr, 'error', round.error)
           FROM round WHERE round.job = job.id AND round.claim > coalesce((
               SELECT max(transition.claim) FROM transition
               WHERE transition.job = job.id AND transition.verb = '{REVIVE.name}'), 0)
           ORDER BY round.claim) AS rounds
FROM job
WHERE job.app = %(app)s AND job.state = %(state)s AND job.id + 0 > %(after)s AND {_COME_TO_AN_END}
ORDER BY job.id + 0 LIMIT %(limit)s
"""
# By the primary key, whatever the statistics say (as in ``sql.guard``).
_HOLD_SEEN = f"""
SELECT job.id
FROM job JOIN unnest(%(jobs)s::bigint[], %(states)s::text[], %(claims)s::bigint[], %(ended_at)s::timestamptz[])
         AS seen (id, state, claim, ended_at) USING (id)
WHERE CASE WHEN {_COME_TO_AN_END} THEN true END
  AND job.state = seen.state AND job.claim = seen.claim AND job.changed_at = seen.ended_at
ORDER BY job.id FOR UPDATE OF job
"""
_HOLD_NAMED = f"""
SELECT job.id FROM job JOIN unnest(%(app)s::text[], %(key)s::text[]) AS named (app, key) USING (app, key)
WHERE CASE WHEN {_COME_TO_AN_END} THEN true END ORDER BY job.id FOR UPDATE OF job
"""
_HOLD_ENDED = f"""
SELECT job.id FROM job WHERE job.app = %(app)s AND job.state = %(state)s AND {_COME_TO_AN_END}
ORDER BY job.id + 0 LIMIT %(limit)s FOR UPDATE OF job
"""
_ARCHIVE = f"UPDATE job SET archived_at = {NOW} WHERE id = ANY(%(jobs)s)"

_LEFT = sql_list(*sorted(LIVE - {State.EXPECTED}))
# One statement, so that a task that is planned meanwhile is counted as one or the other. A request that came by SQL may
# be anything.
_COUNTS = f"""
SELECT state, count(*) FROM job WHERE app = %(app)s AND collect AND state IN ({_LEFT}) GROUP BY state
UNION ALL
SELECT state, count(*) FROM job WHERE app = %(app)s AND {UNCOLLECTED} GROUP BY state
UNION ALL
SELECT NULL, sum(
    CASE WHEN jsonb_typeof(request -> 'keys') = 'array' THEN jsonb_array_length(request -> 'keys') ELSE 1 END)
FROM submission WHERE app = %(app)s AND state = '{SubmissionState.RECEIVED}'
"""


class Round(Struct, frozen=True, kw_only=True):
    """One claim of the job since it was last asked for. A round that was handed back has several."""

    round: int
    claim: int
    ending: str | None
    exit_code: int | None
    output: str | None
    stderr: str | None
    error: str | None


class Finished(Struct, frozen=True, kw_only=True):
    """A job that has ended and is uncollected. ``claim`` and ``ended_at`` say which of its ends this is."""

    id: int
    app: str
    key: str
    state: State
    claim: int
    ended_at: datetime
    kwargs: Mapping[str, JSON]
    rounds: tuple[Round, ...]

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)

    @property
    def output(self) -> str | None:
        """Of the last round that has any."""
        return _last(each.output for each in self.rounds)

    @property
    def error(self) -> str | None:
        """Of the last round that has any; of one that succeeded later it says what went wrong before."""
        return _last(each.error for each in self.rounds)


class Counts(Struct, frozen=True):
    """What is left of an app: jobs that are yet to end and be collected, those that are uncollected, each by state, and
    ``unplanned``, which are asked for and have no state yet."""

    states: Mapping[State, int]
    unplanned: int

    @property
    def left(self) -> int:
        return sum(self.states.values()) + self.unplanned


def finished(tx: Tx, app: str, state: State, *, after: int = 0, limit: int) -> list[Finished]:
    """A page of the app's uncollected jobs that ended so, in the order of their ids, behind the id ``after``."""
    return tx.structs(Finished, _FINISHED, app=app, state=state, after=after, limit=limit)


def archive(tx: Tx, seen: Sequence[Finished], *, whole: bool = False) -> list[int]:
    """Archive those of the jobs that stand as they were seen; with ``whole``, all of them or none."""
    rows = list(dict.fromkeys((each.id, each.state, each.claim, each.ended_at) for each in seen))
    held = tx.column(_HOLD_SEEN, **arrays(rows, "jobs", "states", "claims", "ended_at")) if rows else []
    return [] if whole and len(held) < len(rows) else _archive(tx, held)


def archive_named(tx: Tx, names: Sequence[JobName]) -> list[int]:
    """Archive those of the jobs that are uncollected, whatever they came to."""
    return _archive(tx, tx.column(_HOLD_NAMED, **arrays(names, "app", "key")))


def archive_ended(tx: Tx, app: str, state: State, *, limit: int) -> list[int]:
    """Archive so many of the app's uncollected jobs that ended so."""
    return _archive(tx, tx.column(_HOLD_ENDED, app=app, state=state, limit=limit))


def counts(tx: Tx, app: str) -> Counts:
    """What is left of the app. What nobody has to collect does not count, or it would be left for ever."""
    states: dict[State, int] = {}
    unplanned = 0
    for state, count in tx.rows(_COUNTS, app=app):
        if state is None:
            unplanned = int(count or 0)
        else:
            states[State(state)] = count
    return Counts(states, unplanned)


def _archive(tx: Tx, held: list[int]) -> list[int]:
    if held:
        tx.write(_ARCHIVE, jobs=held)
    return held


def _last(texts: Iterable[str | None]) -> str | None:
    """The last of them that says anything."""
    return next(filter(None, reversed([*texts])), None)
