"""Check whether the ledger is idle: nothing is left that will happen by itself."""

from collections.abc import Sequence

from sluice.jobs.firing import FiringOutcome
from sluice.jobs.states import State
from sluice.jobs.submission import SubmissionState
from sluice.ledger.app_pauses import HAS_TO_STAY, IS_STOPPED
from sluice.ledger.connection import Tx
from sluice.ledger.sql import NOW

# A job with closed gates moves only if a parent does, so that parent counts instead. A paused job moves only when its
# submission is resumed, or its app. A job that waits for an event moves only when the event comes, unless its wait has
# an end. An app that is paused by its breaker counts, because the breaker lets a trial through by itself. A
# long-running service does not count once it has begun, even if it fails and is started again. External work that must
# be ended no longer counts once an attempt to end it has failed.
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
    """Return whether nothing will happen without a new request, apart from future due times.

    ``loaded`` are the sources of the schedules that are handled.
    """
    return not tx.column(_BUSY, loaded=list(loaded))[0]
