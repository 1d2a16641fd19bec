"""Pausing an app: no job of it begins until it is resumed, whichever submission requested the job. Running jobs go on.

Invariants: jobs of a paused app become ready and stay ready. No claim takes them, because ``IS_PAUSED`` is in the guard
of every claim. So a pause writes one row, however many jobs there are. A notification that arrives during the pause
claims nothing. The groomer repeats notifications at growing intervals. When the app is resumed, the caller announces
its jobs immediately.

A person pauses an app, or its breaker does (``breakers``). A breaker's pause lasts until one job is due for a trial.
Only this job may be claimed, and only once. A person's pause replaces a breaker's pause. A breaker leaves a person's
pause unchanged.

Ready jobs of a pool hold its slots. If other apps share the pool, their jobs would wait for jobs that no worker runs.
So ready jobs of a paused app wait for a slot again, and get none before the app is resumed (``HAS_TO_WAIT``).

Races:

- Claim against pause: if the statement of the claim began before the pause was committed, the claim takes its job, as
  if it had come first.
- Two concurrent pauses of the same app result in one pause.
- A concurrent transaction that gives out slots of the pool may give one to a job of the app. This pause does not see
  it, and the job keeps its slot.
- A transaction that pauses or resumes an app with a breaker locks the breaker's row first, so a person and the breaker
  take turns.

A crash leaves nothing, because each operation is one transaction.
"""

from collections.abc import Collection
from datetime import datetime

from msgspec import Struct

from sluice.jobs.model.pool import NAMED
from sluice.jobs.states import PAUSE, By
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.state_ranges import ready_of
from sluice.ledger.database.transitions import NOW, move
from sluice.ledger.job_graph.readiness import move_out

#: True if the job's app is paused and the job is not the trial. For a statement on ``job`` that still reads the old
#: claim number.
IS_PAUSED = """EXISTS (SELECT 1 FROM app_pause WHERE app_pause.app = job.app
    AND NOT coalesce(app_pause.trial = job.id AND app_pause.trial_claim = job.claim, false))"""
#: True if only a person can end the pause of the job's app. A breaker ends its own pauses.
IS_STOPPED = "EXISTS (SELECT 1 FROM app_pause WHERE app_pause.app = job.app AND app_pause.until IS NULL)"
_IS_OF_SHARED_POOL = f"starts_with(job.pool, '{NAMED}')"
#: True if a job that waits for a slot of a pool must be passed over.
HAS_TO_WAIT = f"({_IS_OF_SHARED_POOL} AND {IS_PAUSED})"
#: True if such a job must be passed over until a person resumes its app.
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
SELECT id FROM job WHERE {ready_of("ANY(%(apps)s::text[])")} AND {_IS_OF_SHARED_POOL}
ORDER BY id
"""
_LINE_UP = move(
    PAUSE, By.PLANNER, condition=HAS_TO_WAIT, sets="waiting_for_slot = true", note="'its app is paused'"
)
_RESUME = "DELETE FROM app_pause WHERE app = ANY(%(apps)s) RETURNING app"
_FORGET = """
WITH forgotten AS (DELETE FROM breaker_event WHERE app = ANY(%(apps)s))
UPDATE breaker SET fails = 0 WHERE app = ANY(%(apps)s) AND fails > 0
"""
_PAUSES = "SELECT app, since, by, until, why, trial FROM app_pause ORDER BY app"


class AppPause(Struct, frozen=True):
    """Pause of an app. Only a breaker's pause has ``until``, when a trial is due, and ``why``; ``trial`` once
    chosen."""

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
    """Pause these apps; return the apps that a person had not paused before."""
    tx.rows(_TAKE_TURNS, apps=sorted(apps))
    paused = sorted(tx.column(_PAUSE, apps=sorted(apps), by=by))
    requeue_for_slots(tx, paused)
    return paused


def resume(tx: Tx, apps: Collection[str]) -> list[str]:
    """Resume these apps; return the apps that were paused. The failures that their breakers counted are forgotten.

    The caller must announce their ready jobs. The groomer finds their jobs that wait for a slot.
    """
    if tx.rows(_TAKE_TURNS, apps=sorted(apps)):
        tx.write(_FORGET, apps=sorted(apps))
    return sorted(tx.column(_RESUME, apps=sorted(apps)))


def requeue_for_slots(tx: Tx, apps: list[str]) -> None:
    """Make ready jobs of these apps, which are paused by now, wait for a slot again if their pool is shared."""
    move_out(tx, _LINE_UP, jobs=tx.column(_IN_POOLS, apps=apps))


def pause_of(tx: Tx, app: str) -> AppPause | None:
    return next((pause for pause in pauses(tx) if pause.app == app), None)


def pauses(tx: Tx) -> list[AppPause]:
    return tx.structs(AppPause, _PAUSES)
