"""The breakers of apps: what fails twenty times in a row is not tried a thousand times more.

The breaker of an app counts how many of its rounds have failed one after the other. Once those are too many it opens:
the app is paused (``app_pauses``), so that nobody begins its jobs. After ``pause_s`` one ready job is chosen to be
tried, the *trial*, and that one alone may be claimed, by the first claim after the last it had. If that round succeeds,
the breaker closes; if it fails, it stays open for twice as long as before. A trial that comes to neither end
(cancelled, expired, lost, handed back) is followed by another. What runs when it opens goes on: a success of it closes
the breaker, a failure changes nothing.

What holds: ``breaker.fails`` and the rows of ``breaker_news`` that are there make up what has happened, each round in
one of the two. A closed breaker has counted fewer fails than open it. Rounds count in the order in which their rows
were written; of one transaction a success outweighs the failures.

Who races whom:

- Those who end rounds: each inserts a row of its own (``breaker_news``) and waits for nobody.
- Two who look after one breaker, and a person who pauses or resumes the app: each holds its row of ``breaker`` before
  he reads anything else. None of them has locked any job by then, so the row is the first of their locks. Rows whose
  writer has not committed yet are counted by whoever comes next.
- An opening against a claim: as any pause. What was claimed before it runs, and whoever fails is told that it is
  open before the next job is begun (``actors.breaking``).
- A choice of a trial against whoever moves that job: a job that another holds is passed over.
- A resumption against a trial: the trial runs on, and is one round like others.

What a crash leaves: nothing, for each look is one transaction. News that nobody looked at, and a trial that has ended,
are found by the groomer's next tick; a trial whose hint was lost is announced again like any ready job.
"""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import asdict

from sluice.jobs.breaker import Breaker
from sluice.jobs.states import State
from sluice.ledger import app_pauses
from sluice.ledger.breaker_news import FAILED, SUCCEEDED
from sluice.ledger.connection import Tx
from sluice.ledger.release import ANNOUNCED, READY_COLUMNS, UNEXPIRED, Ready
from sluice.ledger.sql import IN_TURN, NOW

#: Of so many jobs, the most urgent, the one is tried that has failed least: not the same bad one again and again.
CANDIDATES = 100

_KNOW = """
INSERT INTO breaker (app, fails_max, pause_s, pause_s_max, fails)
VALUES (%(app)s, %(fails)s, %(pause_s)s, %(pause_s_max)s, 0) ON CONFLICT (app) DO NOTHING
"""
_RESTATE = """
UPDATE breaker SET fails_max = %(fails)s, pause_s = %(pause_s)s, pause_s_max = %(pause_s_max)s,
                   fails = least(breaker.fails, %(fails)s::int - 1)
WHERE app = %(app)s
"""
_KNOWN = "SELECT app, fails_max, pause_s, pause_s_max FROM breaker ORDER BY app"
# Whoever was told of a breaker may have written after it was dropped.
_FORGET = (
    "DELETE FROM breaker_news WHERE NOT EXISTS (SELECT 1 FROM breaker WHERE breaker.app = breaker_news.app)"
)
_DROP = "DELETE FROM breaker WHERE app = %(app)s"
_DUE = f"""
SELECT app FROM breaker WHERE EXISTS (SELECT 1 FROM breaker_news WHERE breaker_news.app = breaker.app)
    OR EXISTS (SELECT 1 FROM app_pause WHERE app_pause.app = breaker.app AND until <= {NOW})
ORDER BY app
"""
_HOLD = "SELECT fails, fails_max, pause_s, pause_s_max FROM breaker WHERE app = %(app)s FOR UPDATE"
_NEWS = """
WITH told AS (DELETE FROM breaker_news WHERE app = %(app)s RETURNING *)
SELECT failed, succeeded, error FROM told ORDER BY id
"""
_PAUSED = f"""
SELECT until <= {NOW} AS over, pause_s, trial, trial_claim FROM app_pause WHERE app = %(app)s
"""
_COUNT = "UPDATE breaker SET fails = %(fails)s WHERE app = %(app)s"
_OPEN = f"""
INSERT INTO app_pause (app, since, until, pause_s, why)
VALUES (%(app)s, {NOW}, {NOW} + make_interval(secs => %(pause_s)s), %(pause_s)s, %(why)s)
"""
_CLOSE = "DELETE FROM app_pause WHERE app = %(app)s AND until IS NOT NULL"
_LINES = "SELECT DISTINCT pool FROM job WHERE queued AND app = %(app)s"
_LONGER = f"""
UPDATE app_pause SET pause_s = %(pause_s)s, until = {NOW} + make_interval(secs => %(pause_s)s),
                     trial = NULL, trial_claim = NULL
WHERE app = %(app)s
"""
_ANOTHER = "UPDATE app_pause SET trial = NULL, trial_claim = NULL WHERE app = %(app)s"
# A job that is yet to be claimed is still to be tried; one that runs is being tried. The next claim is not always the
# next number: in a ledger that was restored it is above all that were ever given out.
_TRIED = """
SELECT job.state, job.queued, job.claim, job.turn_back IS NOT NULL AS turned_back, tried.ending
FROM job LEFT JOIN LATERAL (
    SELECT ending FROM round WHERE round.job = job.id AND round.claim > %(claim)s ORDER BY claim LIMIT 1
) tried ON true
WHERE job.id = %(trial)s
"""
# The collation is that of the index job_urgency: see there.
_IS_READY = f'job.state COLLATE "C" = \'{State.READY}\' AND {UNEXPIRED} AND job.app COLLATE "C" ='
_STANDS_IN_LINE = f"queued AND {UNEXPIRED} AND job.app ="
_CANDIDATES, _IN_LINE = (
    f"""
    SELECT id FROM (
        SELECT id, round, priority, urgent_by, not_before, created_at FROM job
        WHERE {may_be_tried} %(app)s ORDER BY {IN_TURN} LIMIT {CANDIDATES}) first
    ORDER BY round, {IN_TURN}
    """
    for may_be_tried in (_IS_READY, _STANDS_IN_LINE)
)
#: Whether there is anything to do about any of them: what was told and is not counted, or a pause that is over, where
#: somebody is being tried or could be. To know of one that is in order is nothing to do.
IS_DUE = f"""
SELECT 1 FROM breaker_news
UNION ALL SELECT 1 FROM app_pause JOIN breaker USING (app) WHERE until <= {NOW} AND (
    trial IS NOT NULL OR EXISTS (SELECT 1 FROM job WHERE {_IS_READY} app_pause.app)
    OR EXISTS (SELECT 1 FROM job WHERE {_STANDS_IN_LINE} app_pause.app))
"""
_TAKE = f"""
SELECT job.id, job.claim, job.pool, job.queued
FROM job JOIN unnest(%(jobs)s::bigint[]) WITH ORDINALITY AS given (id, nth) ON given.id = job.id
WHERE job.state = '{State.READY}' OR job.queued ORDER BY given.nth LIMIT 1 FOR UPDATE OF job SKIP LOCKED
"""
_TRY = "UPDATE app_pause SET trial = %(trial)s, trial_claim = %(claim)s WHERE app = %(app)s"
_ANNOUNCE = f"UPDATE job SET {ANNOUNCED} WHERE id = %(trial)s RETURNING {READY_COLUMNS}"


class Minded(Struct, frozen=True):
    """``is_open`` is whether the app's jobs are not to be begun now. ``closed`` says that by this they may be again,
    and are to be announced; ``trial`` is to be announced alone."""

    is_open: bool = False
    closed: bool = False
    trial: list[Ready] = []


class _Terms(Struct, frozen=True):
    fails: int
    fails_max: int
    pause_s: float
    pause_s_max: float


class _Pause(Struct, frozen=True):
    """``over``: it is time for a trial. None where a person has paused the app."""

    over: bool | None
    pause_s: float | None
    trial: int | None
    trial_claim: int | None


class _News(Struct, frozen=True):
    failed: int
    succeeded: int
    error: str | None


class _Trial(StrEnum):
    """How it stands with a trial."""

    UNDER_WAY = "under way"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    NEITHER = "neither"


def know(tx: Tx, app: str, breaker: Breaker) -> None:
    """Count the rounds of this app from now on, where that is not done yet."""
    tx.write(_KNOW, app=app, **asdict(breaker))


def restate(tx: Tx, app: str, breaker: Breaker) -> None:
    """Have its breaker do from now on what its definition says by now."""
    tx.write(_RESTATE, app=app, **asdict(breaker))


def known(tx: Tx) -> dict[str, Breaker]:
    """The apps whose rounds are counted, and by what terms."""
    return {
        app: Breaker(fails=fails, pause_s=pause_s, pause_s_max=longest_s)
        for app, fails, pause_s, longest_s in tx.rows(_KNOWN)
    }


def due(tx: Tx) -> list[str]:
    """The apps whose breakers are to be minded. News of what is counted no more are forgotten."""
    tx.write(_FORGET)
    return tx.column(_DUE)


def drop(tx: Tx, app: str) -> Minded:
    """Its definition has no breaker any more: if it is open it closes."""
    tx.rows(_HOLD, app=app)
    tx.rows(_NEWS, app=app)
    tx.write(_DROP, app=app)
    return _close(tx, app)


def mind(tx: Tx, app: str) -> Minded:
    """Add up what the breaker was told, and do what follows: open, close, let a job be tried, or wait for longer.

    The transaction holds nothing before.
    """
    held = tx.structs(_Terms, _HOLD, app=app)
    if not held:
        return Minded()
    (terms,) = held
    news = tx.structs(_News, _NEWS, app=app)
    paused = tx.structs(_Pause, _PAUSED, app=app)
    if not paused:
        return _count(tx, app, terms, news)
    (pause,) = paused
    if pause.over is None:
        if terms.fails:
            tx.write(_COUNT, app=app, fails=0)
        return Minded(is_open=True)
    if any(each.succeeded for each in news):
        return _close(tx, app)
    return _go_on(tx, app, terms, pause)


def _count(tx: Tx, app: str, terms: _Terms, news: Sequence[_News]) -> Minded:
    fails, error = terms.fails, None
    for each in news:
        fails = 0 if each.succeeded else fails + each.failed
        error = each.error or error
    if fails < terms.fails_max:
        if fails != terms.fails:
            tx.write(_COUNT, app=app, fails=fails)
        return Minded()
    said = f", the last with: {error}" if error else ""
    tx.write(_OPEN, app=app, pause_s=terms.pause_s, why=f"{_many(fails)}{said}")
    tx.write(_COUNT, app=app, fails=0)
    app_pauses.line_up(tx, [app])
    return Minded(is_open=True)


def _close(tx: Tx, app: str) -> Minded:
    """Whoever stood in line and was passed over may be let in by this, as the last that the transaction does."""
    closed = bool(tx.write(_CLOSE, app=app))
    tx.pools.update(tx.column(_LINES, app=app))
    return Minded(closed=closed)


def _go_on(tx: Tx, app: str, terms: _Terms, pause: _Pause) -> Minded:
    if pause.trial is not None:
        stands = _stands(tx, pause)
        if stands is _Trial.UNDER_WAY:
            return Minded(is_open=True)
        if stands is _Trial.SUCCEEDED:
            return _close(tx, app)
        if stands is _Trial.FAILED:
            pause_s = min(2 * (pause.pause_s or terms.pause_s), terms.pause_s_max)
            tx.write(_LONGER, app=app, pause_s=pause_s)
            return Minded(is_open=True)
        tx.write(_ANOTHER, app=app)
    return Minded(is_open=True, trial=_choose(tx, app) if pause.over else [])


def _stands(tx: Tx, pause: _Pause) -> _Trial:
    for state, queued, claim, turned_back, ending in tx.rows(
        _TRIED, trial=pause.trial, claim=pause.trial_claim
    ):
        if ending is not None:
            return _ended(ending, turned_back=turned_back)
        is_to_be_claimed = claim == pause.trial_claim and (state == State.READY or queued)
        if is_to_be_claimed or (claim != pause.trial_claim and state == State.RUNNING):
            return _Trial.UNDER_WAY
    return _Trial.NEITHER


def _ended(ending: str, *, turned_back: bool) -> _Trial:
    if ending == SUCCEEDED:
        return _Trial.SUCCEEDED
    return _Trial.FAILED if ending in FAILED and not turned_back else _Trial.NEITHER


def _choose(tx: Tx, app: str) -> list[Ready]:
    """Choose whom to try, where anybody is to be had; to be announced if it may begin. One that stands in line for a
    pool may be let in by this, as soon as it is its turn."""
    candidates = tx.column(_CANDIDATES, app=app) or tx.column(_IN_LINE, app=app)
    for trial, claim, pool, queued in tx.rows(_TAKE, jobs=candidates):
        tx.write(_TRY, app=app, trial=trial, claim=claim)
        if queued:
            tx.pools.add(pool)
            return []
        return [Ready(*row) for row in tx.rows(_ANNOUNCE, trial=trial)]
    return []


def _many(fails: int) -> str:
    return "a round has failed" if fails == 1 else f"{fails} rounds in a row have failed"
