"""Pausing an app: none of its jobs is begun until it is resumed, whoever wants them. Whatever runs goes on.

What holds: its jobs become ready, and stay so; no claim takes one, for ``IS_PAUSED`` stands in the guard of each. So a
pause writes one row, however many jobs there are, and hints that come meanwhile come to nothing. The groomer repeats
them, less and less often; whoever resumes the app has them repeated at once.

A person pauses an app, or its breaker does (``breakers``), until one job is to be tried: that one alone may be claimed,
and once. A person's pause takes the place of a breaker's; a breaker leaves a person's as it is.

Ready jobs of a pool have slots of it. Where that is shared with other apps, those would wait for jobs that nobody runs:
so they go back into the line, and are not let in before the app is resumed (``HAS_TO_WAIT``).

Who races whom: a claim whose statement had begun when the pause was committed takes its job, as if it had come before.
Two who pause the same app are one. Who lets jobs into a pool at this moment may let one in behind our back, which keeps
its slot. Whoever writes the pause of an app that has a breaker holds the breaker's row first, so that a person and the
breaker take turns. What a crash leaves: nothing, for each is one transaction.
"""

from collections.abc import Collection
from datetime import datetime

from msgspec import Struct

from sluice.jobs.pooling import NAMED
from sluice.jobs.states import PAUSE, By, State
from sluice.ledger.connection import Tx
from sluice.ledger.slots import move_out
from sluice.ledger.sql import NOW, move

#: In a statement on ``job``, which reads the claim that it had before.
IS_PAUSED = """EXISTS (SELECT 1 FROM app_pause WHERE app_pause.app = job.app
    AND NOT coalesce(app_pause.trial = job.id AND app_pause.trial_claim = job.claim, false))"""
#: Whether it takes a person to let the job go on; a breaker does so by itself.
IS_STOPPED = "EXISTS (SELECT 1 FROM app_pause WHERE app_pause.app = job.app AND app_pause.until IS NULL)"
_IS_OF_SHARED_POOL = f"starts_with(job.pool, '{NAMED}')"
#: Whether a job that stands in line for a pool is passed over.
HAS_TO_WAIT = f"({_IS_OF_SHARED_POOL} AND {IS_PAUSED})"
#: Whether that is so until a person comes.
HAS_TO_STAY = f"({_IS_OF_SHARED_POOL} AND {IS_STOPPED})"

_TAKE_TURNS = "SELECT 1 FROM breaker WHERE app = ANY(%(apps)s) ORDER BY app FOR UPDATE"
_PAUSE = f"""
INSERT INTO app_pause (app, since, by)
SELECT app, {NOW}, %(by)s::text FROM unnest(%(apps)s::text[]) AS given (app) ORDER BY app
ON CONFLICT (app) DO UPDATE SET since = excluded.since, by = excluded.by, until = NULL, pause_s = NULL, why = NULL,
    trial = NULL, trial_claim = NULL WHERE app_pause.until IS NOT NULL
RETURNING app
"""
_IN_POOLS = f"""
SELECT id FROM job WHERE app = ANY(%(apps)s) AND state = '{State.READY}' AND {_IS_OF_SHARED_POOL} ORDER BY id
"""
_LINE_UP = move(PAUSE, By.PLANNER, condition=HAS_TO_WAIT, sets="queued = true", note="'its app is paused'")
_RESUME = "DELETE FROM app_pause WHERE app = ANY(%(apps)s) RETURNING app"
_FORGET = """
WITH forgotten AS (DELETE FROM breaker_news WHERE app = ANY(%(apps)s))
UPDATE breaker SET fails = 0 WHERE app = ANY(%(apps)s) AND fails > 0
"""
_PAUSES = "SELECT app, since, by, until, why, trial FROM app_pause ORDER BY app"


class AppPause(Struct, frozen=True):
    """One of a breaker is ``until`` a job is tried, and says ``why``; ``trial`` is that job, once it was chosen."""

    app: str
    since: datetime
    by: str | None
    until: datetime | None = None
    why: str | None = None
    trial: int | None = None

    @property
    def is_of_breaker(self) -> bool:
        return self.until is not None


def pause(tx: Tx, apps: Collection[str], *, by: str | None) -> list[str]:
    """Those that nobody had paused before."""
    tx.rows(_TAKE_TURNS, apps=sorted(apps))
    paused = sorted(tx.column(_PAUSE, apps=sorted(apps), by=by))
    line_up(tx, paused)
    return paused


def resume(tx: Tx, apps: Collection[str]) -> list[str]:
    """Those that were paused. Their ready jobs are still to be announced; who stands in line the groomer finds. What
    their breakers have counted is forgotten."""
    if tx.rows(_TAKE_TURNS, apps=sorted(apps)):
        tx.write(_FORGET, apps=sorted(apps))
    return sorted(tx.column(_RESUME, apps=sorted(apps)))


def line_up(tx: Tx, apps: list[str]) -> None:
    """Have what is ready of these, which are paused by now, leave its slots of pools that others share."""
    move_out(tx, _LINE_UP, jobs=tx.column(_IN_POOLS, apps=apps))


def pause_of(tx: Tx, app: str) -> AppPause | None:
    return next((pause for pause in pauses(tx) if pause.app == app), None)


def pauses(tx: Tx) -> list[AppPause]:
    return tx.structs(AppPause, _PAUSES)
