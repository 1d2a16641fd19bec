"""Circuit breakers of apps: an app with rounds that keep failing is paused for a while.

A breaker counts the failed rounds of its app in a row. At its limit it opens: the app is paused
(``ledger.limits.app_pauses``), so that no worker begins its jobs. After ``pause_s`` one ready job is chosen, the
*trial*. Only the trial may be claimed, and only once: by its next claim. If that round succeeds, the breaker closes. If
it fails, the breaker stays open for twice as long as before, up to ``pause_s_max``. If the trial ends in another way
(cancelled, expired, lost, handed back), another job is chosen. Jobs that run when the breaker opens go on: a success
closes the breaker, a failure changes nothing.

The statements that end rounds also report them to the breakers (``reporting``). A transaction that ends rounds inserts
one small row for each of their apps that has a breaker (``breaker_event``), and nothing else. ``evaluate`` adds the
rows up.

Invariants of breakers: ``breaker.fails`` and the existing rows of ``breaker_event`` together account for the ended
rounds, each round only once. A closed breaker has counted fewer failures than open it. Rounds count in the order in
which their rows were written. If a transaction reports both, a success outweighs the failures.

Invariants of reports: a failed round of an app with a breaker has its row in the transaction that ended it. A success
has a row only if it could matter: while failures are counted or yet to be counted, or while the breaker is open. A
healthy app writes no rows. If no app has a breaker, no statement is added and no row is written.

Races:

- Transactions that end rounds: each inserts rows of its own and waits for no other. They share no row, so the lock
  order does not change.
- Two processes that handle the same breaker, and a person pausing or resuming its app. Each transaction locks the row
  of ``breaker`` before it reads anything else. It has not locked any job by then, so this row is the first of its
  locks. Rows that are not committed yet are counted by the next process.
- An opening against a claim: as for any pause. Jobs that were claimed before the opening run. After a failed round, a
  worker learns that the breaker is open before it begins its next job (``actors.executor.breakers``).
- The choice of a trial against another change of that job: a job that another transaction holds is passed over.
- A resumption against a trial: the trial runs on as an ordinary round.

A crash leaves nothing, because each step is one transaction. The next tick of the groomer finds uncounted rows, and a
trial that has ended. A trial is announced again like any ready job if its notification was lost.
"""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import asdict

from sluice.jobs.model.history import Lost
from sluice.jobs.model.job import Ending
from sluice.jobs.policy.breaker import Breaker
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import IN_TURN, NOW
from sluice.ledger.job_graph.readiness import ANNOUNCED, READY_COLUMNS, UNEXPIRED, ReadyJob
from sluice.ledger.limits import app_pauses

#: Number of most urgent jobs among which the trial is chosen. The job in the lowest round is taken, so that the same
#: bad job is not tried again and again.
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
# A transaction that read a breaker may have written its row after the breaker was dropped.
_FORGET = (
    "DELETE FROM breaker_event WHERE NOT EXISTS (SELECT 1 FROM breaker WHERE breaker.app = breaker_event.app)"
)
_DROP = "DELETE FROM breaker WHERE app = %(app)s"
_DUE = f"""
SELECT app FROM breaker WHERE EXISTS (SELECT 1 FROM breaker_event WHERE breaker_event.app = breaker.app)
    OR EXISTS (SELECT 1 FROM app_pause WHERE app_pause.app = breaker.app AND until <= {NOW})
ORDER BY app
"""
_HOLD = "SELECT fails, fails_max, pause_s, pause_s_max FROM breaker WHERE app = %(app)s FOR UPDATE"
_NEWS = """
WITH told AS (DELETE FROM breaker_event WHERE app = %(app)s RETURNING *)
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
_LINES = "SELECT DISTINCT pool FROM job WHERE waiting_for_slot AND app = %(app)s"
_LONGER = f"""
UPDATE app_pause SET pause_s = %(pause_s)s, until = {NOW} + make_interval(secs => %(pause_s)s),
                     trial = NULL, trial_claim = NULL
WHERE app = %(app)s
"""
_ANOTHER = "UPDATE app_pause SET trial = NULL, trial_claim = NULL WHERE app = %(app)s"
# A trial is under way while it is yet to be claimed, and while it runs. The next claim does not always have the next
# number: in a restored ledger it is above all numbers that were ever given out.
_TRIED = """
SELECT job.state, job.waiting_for_slot, job.claim, job.abort_reason IS NOT NULL AS turned_back, tried.ending
FROM job LEFT JOIN LATERAL (
    SELECT ending FROM round WHERE round.job = job.id AND round.claim > %(claim)s ORDER BY claim LIMIT 1
) tried ON true
WHERE job.id = %(trial)s
"""
# The collation is that of the index job_urgency; the reason is given there.
_IS_READY = f'job.state COLLATE "C" = \'{State.READY}\' AND {UNEXPIRED} AND job.app COLLATE "C" ='
_STANDS_IN_LINE = f"waiting_for_slot AND {UNEXPIRED} AND job.app ="
_CANDIDATES, _IN_LINE = (
    f"""
    SELECT id FROM (
        SELECT id, round, priority, effective_deadline, not_before, created_at FROM job
        WHERE {may_be_tried} %(app)s ORDER BY {IN_TURN} LIMIT {CANDIDATES}) first
    ORDER BY round, {IN_TURN}
    """
    for may_be_tried in (_IS_READY, _STANDS_IN_LINE)
)
#: Returns a row if a breaker needs handling: for an uncounted row, or for a pause that is over if a job is the trial or
#: could become the trial. A breaker in order needs none.
IS_DUE = f"""
SELECT 1 FROM breaker_event
UNION ALL SELECT 1 FROM app_pause JOIN breaker USING (app) WHERE until <= {NOW} AND (
    trial IS NOT NULL OR EXISTS (SELECT 1 FROM job WHERE {_IS_READY} app_pause.app)
    OR EXISTS (SELECT 1 FROM job WHERE {_STANDS_IN_LINE} app_pause.app))
"""
_TAKE = f"""
SELECT job.id, job.claim, job.pool, job.waiting_for_slot
FROM job JOIN unnest(%(jobs)s::bigint[]) WITH ORDINALITY AS given (id, nth) ON given.id = job.id
WHERE job.state = '{State.READY}' OR job.waiting_for_slot ORDER BY given.nth LIMIT 1 FOR UPDATE OF job SKIP LOCKED
"""
_TRY = "UPDATE app_pause SET trial = %(trial)s, trial_claim = %(claim)s WHERE app = %(app)s"
_ANNOUNCE = f"UPDATE job SET {ANNOUNCED} WHERE id = %(trial)s RETURNING {READY_COLUMNS}"


class Evaluated(Struct, frozen=True):
    """Result of handling a breaker.

    ``is_open``: the app's jobs must not be begun now. ``closed``: the pause has ended, and the caller must announce the
    app's ready jobs. ``trial`` must be announced, in a notification of its own.
    """

    is_open: bool = False
    closed: bool = False
    trial: list[ReadyJob] = []


class _Terms(Struct, frozen=True):
    fails: int
    fails_max: int
    pause_s: float
    pause_s_max: float


class _Pause(Struct, frozen=True):
    """Pause of the app. ``over``: a trial is due; None if a person has paused the app."""

    over: bool | None
    pause_s: float | None
    trial: int | None
    trial_claim: int | None


class _News(Struct, frozen=True):
    failed: int
    succeeded: int
    error: str | None


class _Trial(StrEnum):
    """Progress of a trial."""

    UNDER_WAY = "under way"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    NEITHER = "neither"


def ensure(tx: Tx, app: str, breaker: Breaker) -> None:
    """Begin to count the rounds of this app, if they are not counted yet."""
    tx.write(_KNOW, app=app, **asdict(breaker))


def update(tx: Tx, app: str, breaker: Breaker) -> None:
    """Update the breaker of this app to the current definition."""
    tx.write(_RESTATE, app=app, **asdict(breaker))


def terms(tx: Tx) -> dict[str, Breaker]:
    """Return the breakers that the ledger has, by app."""
    return {
        app: Breaker(fails=fails, pause_s=pause_s, pause_s_max=longest_s)
        for app, fails, pause_s, longest_s in tx.rows(_KNOWN)
    }


def due(tx: Tx) -> list[str]:
    """Return the apps with a breaker that must be handled.

    Also remove the reports for apps that have no breaker any more.
    """
    tx.write(_FORGET)
    return tx.column(_DUE)


def drop(tx: Tx, app: str) -> Evaluated:
    """Remove the breaker of an app that has none any more in its definition. An open breaker closes."""
    tx.rows(_HOLD, app=app)
    tx.rows(_NEWS, app=app)
    tx.write(_DROP, app=app)
    return _close(tx, app)


def evaluate(tx: Tx, app: str) -> Evaluated:
    """Count the rounds that were reported, and follow up: open, close, choose a trial, or wait for longer.

    The transaction must not hold any lock before.
    """
    held = tx.structs(_Terms, _HOLD, app=app)
    if not held:
        return Evaluated()
    (terms,) = held
    news = tx.structs(_News, _NEWS, app=app)
    paused = tx.structs(_Pause, _PAUSED, app=app)
    if not paused:
        return _count(tx, app, terms, news)
    (pause,) = paused
    if pause.over is None:
        if terms.fails:
            tx.write(_COUNT, app=app, fails=0)
        return Evaluated(is_open=True)
    if any(each.succeeded for each in news):
        return _close(tx, app)
    return _go_on(tx, app, terms, pause)


def _count(tx: Tx, app: str, terms: _Terms, news: Sequence[_News]) -> Evaluated:
    fails, error = terms.fails, None
    for each in news:
        fails = 0 if each.succeeded else fails + each.failed
        error = each.error or error
    if fails < terms.fails_max:
        if fails != terms.fails:
            tx.write(_COUNT, app=app, fails=fails)
        return Evaluated()
    said = f", the last with: {error}" if error else ""
    tx.write(_OPEN, app=app, pause_s=terms.pause_s, why=f"{_many(fails)}{said}")
    tx.write(_COUNT, app=app, fails=0)
    app_pauses.requeue_for_slots(tx, [app])
    return Evaluated(is_open=True)


def _close(tx: Tx, app: str) -> Evaluated:
    """Close the breaker. Jobs of the app that were passed over may get a slot at the end of the transaction."""
    closed = bool(tx.write(_CLOSE, app=app))
    tx.pools.update(tx.column(_LINES, app=app))
    return Evaluated(closed=closed)


def _go_on(tx: Tx, app: str, terms: _Terms, pause: _Pause) -> Evaluated:
    if pause.trial is not None:
        stands = _stands(tx, pause)
        if stands is _Trial.UNDER_WAY:
            return Evaluated(is_open=True)
        if stands is _Trial.SUCCEEDED:
            return _close(tx, app)
        if stands is _Trial.FAILED:
            pause_s = min(2 * (pause.pause_s or terms.pause_s), terms.pause_s_max)
            tx.write(_LONGER, app=app, pause_s=pause_s)
            return Evaluated(is_open=True)
        tx.write(_ANOTHER, app=app)
    return Evaluated(is_open=True, trial=_choose(tx, app) if pause.over else [])


def _stands(tx: Tx, pause: _Pause) -> _Trial:
    for state, waiting_for_slot, claim, turned_back, ending in tx.rows(
        _TRIED, trial=pause.trial, claim=pause.trial_claim
    ):
        if ending is not None:
            return _ended(ending, turned_back=turned_back)
        is_to_be_claimed = claim == pause.trial_claim and (state == State.READY or waiting_for_slot)
        if is_to_be_claimed or (claim != pause.trial_claim and state == State.RUNNING):
            return _Trial.UNDER_WAY
    return _Trial.NEITHER


def _ended(ending: str, *, turned_back: bool) -> _Trial:
    if ending == SUCCEEDED:
        return _Trial.SUCCEEDED
    return _Trial.FAILED if ending in FAILED and not turned_back else _Trial.NEITHER


def _choose(tx: Tx, app: str) -> list[ReadyJob]:
    """Choose a trial, if there is a candidate; return it if it can be announced.

    If no job is ready, a job that waits for a slot of its pool is chosen. It may get one when its turn comes.
    """
    candidates = tx.column(_CANDIDATES, app=app) or tx.column(_IN_LINE, app=app)
    for trial, claim, pool, waiting_for_slot in tx.rows(_TAKE, jobs=candidates):
        tx.write(_TRY, app=app, trial=trial, claim=claim)
        if waiting_for_slot:
            tx.pools.add(pool)
            return []
        return [ReadyJob(*row) for row in tx.rows(_ANNOUNCE, trial=trial)]
    return []


def _many(fails: int) -> str:
    return "a round has failed" if fails == 1 else f"{fails} rounds in a row have failed"


#: Endings that count as failures. A round that was lost or handed back, and a saga that was turned back, do not count:
#: they show nothing about the systems that the app needs.
FAILED = (Ending.ERROR, Ending.UNDO_FAILED, Ending.TIMED_OUT, Lost.TIMED_OUT)
SUCCEEDED = Ending.DONE
#: Characters that are kept of the first line of a failed round's error.
ERROR_CHARACTERS_MAX = 200

_FAILED = ", ".join(f"'{ending}'" for ending in FAILED)
_HAS_FAILED = f"ended.ending IN ({_FAILED}) AND ended.abort_reason IS NULL"
_MATTERS = """
bool_or(breaker.fails > 0) OR EXISTS (SELECT 1 FROM breaker_event news WHERE news.app = breaker.app)
OR EXISTS (SELECT 1 FROM app_pause WHERE app_pause.app = breaker.app AND app_pause.until IS NOT NULL)
"""


def reporting(ended: str) -> str:
    """Return the statement that reports ended rounds: ``ended`` yields ``app``, ``ending``, ``error``,
    ``abort_reason``.

    If no app has a breaker, Postgres finds that out once, and reads none of the rows.
    """
    return f"""
    INSERT INTO breaker_event (app, failed, succeeded, error)
    SELECT breaker.app, count(*) FILTER (WHERE {_HAS_FAILED}),
           count(*) FILTER (WHERE ended.ending = '{SUCCEEDED}'),
           max(left(split_part(ended.error, chr(10), 1), {ERROR_CHARACTERS_MAX})) FILTER (WHERE {_HAS_FAILED})
    FROM ({ended}) ended JOIN breaker ON breaker.app = ended.app
    WHERE EXISTS (SELECT 1 FROM breaker) AND (ended.ending = '{SUCCEEDED}' OR {_HAS_FAILED})
    GROUP BY breaker.app HAVING bool_or({_HAS_FAILED}) OR {_MATTERS}
    """
