"""Pausing an app: none of its jobs is begun until it is resumed, whoever wants them. Whatever runs goes on.

What holds: its jobs become ready, and stay so; no claim takes one, for ``IS_PAUSED`` stands in the guard of each. So a
pause writes one row, however many jobs there are, and hints that come meanwhile come to nothing. The groomer repeats
them, less and less often; whoever resumes the app has them repeated at once.

Ready jobs of a pool have slots of it. Where that is shared with other apps, those would wait for jobs that nobody runs:
so they go back into the line, and are not let in before the app is resumed (``HAS_TO_WAIT``).

Who races whom: a claim whose statement had begun when the pause was committed takes its job, as if it had come before.
Two who pause the same app are one. Who lets jobs into a pool at this moment may let one in behind our back, which keeps
its slot. What a crash leaves: nothing, for each is one transaction.
"""

from collections.abc import Collection
from datetime import datetime

from msgspec import Struct

from jobs.pooling import NAMED
from jobs.states import PAUSE, By, State
from ledger.connection import Tx
from ledger.slots import move_out
from ledger.sql import NOW, move

#: In a statement on ``job``.
IS_PAUSED = "EXISTS (SELECT 1 FROM app_pause WHERE app_pause.app = job.app)"
#: Whether a job that stands in line for a pool is passed over.
HAS_TO_WAIT = f"(starts_with(job.pool, '{NAMED}') AND {IS_PAUSED})"

_PAUSE = f"""
INSERT INTO app_pause (app, since, by)
SELECT app, {NOW}, %(by)s::text FROM unnest(%(apps)s::text[]) AS given (app) ORDER BY app
ON CONFLICT (app) DO NOTHING RETURNING app
"""
_IN_POOLS = f"""
SELECT id FROM job WHERE app = ANY(%(apps)s) AND state = '{State.READY}' AND starts_with(pool, '{NAMED}') ORDER BY id
"""
_LINE_UP = move(PAUSE, By.PLANNER, condition=HAS_TO_WAIT, sets="queued = true", note="'its app is paused'")
_RESUME = "DELETE FROM app_pause WHERE app = ANY(%(apps)s) RETURNING app"
_PAUSES = "SELECT app, since, by FROM app_pause ORDER BY app"


class AppPause(Struct, frozen=True):
    app: str
    since: datetime
    by: str | None


def pause(tx: Tx, apps: Collection[str], *, by: str | None) -> list[str]:
    """Those that were not paused before."""
    paused = sorted(tx.column(_PAUSE, apps=sorted(apps), by=by))
    move_out(tx, _LINE_UP, jobs=tx.column(_IN_POOLS, apps=paused))
    return paused


def resume(tx: Tx, apps: Collection[str]) -> list[str]:
    """Those that were paused. Their ready jobs are still to be announced; who stands in line the groomer finds."""
    return sorted(tx.column(_RESUME, apps=sorted(apps)))


def pause_of(tx: Tx, app: str) -> AppPause | None:
    return next((pause for pause in pauses(tx) if pause.app == app), None)


def pauses(tx: Tx) -> list[AppPause]:
    return tx.structs(AppPause, _PAUSES)
