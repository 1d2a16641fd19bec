"""Whether anything is left that will happen by itself."""

from collections.abc import Sequence

from sluice.jobs.firing import FiringOutcome
from sluice.jobs.states import State
from sluice.jobs.submission import SubmissionState
from sluice.ledger.app_pauses import HAS_TO_STAY, IS_STOPPED
from sluice.ledger.connection import Tx
from sluice.ledger.sql import NOW

# A job whose gates are shut moves only if a parent does; then that parent is what is left to do. What is paused moves
# only when somebody resumes it, or its app, and so does what waits for an event, unless its time runs out. What a
# breaker has paused it has tried by itself. Work that goes on until it is stopped is not waited for once it has begun,
# even where it fails and is started again; nor is work that is to be ended, once that has been tried in vain.
_BUSY = f"""
SELECT EXISTS (SELECT 1 FROM submission WHERE state = '{SubmissionState.RECEIVED}' AND paused_at IS NULL)
    OR EXISTS (SELECT 1 FROM owed)
    OR EXISTS (SELECT 1 FROM job WHERE state = '{State.EXECUTED}' OR state = '{State.READY}' AND NOT {IS_STOPPED}
               OR state = '{State.RUNNING}' AND worker IS NOT NULL
               OR state = '{State.WAITING}' AND open AND NOT paused AND NOT (unbounded AND fails > 0)
                  AND NOT (queued AND {HAS_TO_STAY})
               OR state = '{State.SUSPENDED}' AND (not_before IS NOT NULL OR end_before IS NOT NULL))
    OR EXISTS (SELECT 1 FROM job WHERE watch_at IS NOT NULL AND state <> '{State.RUNNING}' AND misses = 0)
    OR EXISTS (SELECT 1 FROM schedule WHERE source = ANY(%(loaded)s::text[]) AND retired_at IS NULL
               AND (fire_at <= {NOW} OR paused_at IS NULL AND EXISTS (
                   SELECT 1 FROM firing WHERE schedule = schedule.id AND outcome = '{FiringOutcome.QUEUED}')))
"""


def idle(tx: Tx, loaded: Sequence[str]) -> bool:
    """Nothing is left that will happen without somebody asking for it, but for due times to come.

    ``loaded`` are the sources whose schedules are seen to.
    """
    return not tx.column(_BUSY, loaded=list(loaded))[0]
