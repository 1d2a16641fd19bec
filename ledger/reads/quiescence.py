"""Checks for quiescence, in which nothing is left to happen, and the list of all transitions.

- ``idle`` checks whether nothing is left that will happen by itself.
- ``open_submissions``, ``unfinished``, ``untold`` and ``has_written`` are checks after each step of a simulation.
- ``moves`` returns all transitions of all jobs in order, as simulations need them.
"""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.schedules.schedule import FiringOutcome
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import NOW
from sluice.ledger.lifecycle.submissions import UNWATCHED
from sluice.ledger.limits.app_pauses import HAS_TO_STAY, IS_STOPPED

# If the last two jobs of a submission end at the same time, the groomer ends the submission (``UNWATCHED``).
# A job with closed gates moves only if a parent does, so that parent counts instead. A paused job moves only when its
# submission is resumed, or its app. A job that waits for an event moves only when the event comes, unless its wait has
# an end. An app that is paused by its breaker counts, because the breaker lets a trial through by itself. A
# long-running service does not count once it has begun, even if it fails and is started again. External work that must
# be ended no longer counts once an attempt to end it has failed.
_BUSY = f"""
SELECT EXISTS (SELECT 1 FROM submission WHERE state = '{SubmissionState.RECEIVED}' AND paused_at IS NULL)
    OR EXISTS (SELECT 1 FROM propagation_outbox)
    OR EXISTS ({UNWATCHED})
    OR EXISTS (SELECT 1 FROM job WHERE state = '{State.EXECUTED}' OR state = '{State.READY}' AND NOT {IS_STOPPED}
               OR state = '{State.RUNNING}' AND worker IS NOT NULL
               OR state = '{State.WAITING}' AND unblocked AND NOT paused AND NOT (unbounded AND fails > 0)
                  AND NOT (waiting_for_slot AND {HAS_TO_STAY})
               OR state = '{State.SUSPENDED}' AND (not_before IS NOT NULL OR end_before IS NOT NULL))
    OR EXISTS (SELECT 1 FROM job WHERE next_poll_at IS NOT NULL AND state <> '{State.RUNNING}' AND failed_polls = 0)
    OR EXISTS (SELECT 1 FROM schedule WHERE source = ANY(%(loaded)s::text[]) AND retired_at IS NULL
               AND (fire_at <= {NOW} OR paused_at IS NULL AND EXISTS (
                   SELECT 1 FROM firing WHERE schedule = schedule.id AND outcome = '{FiringOutcome.QUEUED}')))
"""


def idle(tx: Tx, loaded: Sequence[str]) -> bool:
    """Return whether nothing will happen without a new request, apart from future due times.

    ``loaded`` are the sources of the schedules that are handled.
    """
    return not tx.column(_BUSY, loaded=list(loaded), limit=1)[0]


_WRITES = "SELECT pg_current_xact_id_if_assigned() IS NOT NULL"
_OPEN_SUBMISSIONS = f"""
SELECT id || ' is ' || state FROM submission
WHERE state IN ('{SubmissionState.RECEIVED}', '{SubmissionState.ACTIVE}') ORDER BY number
"""
# Two invariants: wanted jobs end, and no job that could run is left waiting. A pushed job may wait indefinitely
# for a parent that no submission requested, and so may the jobs downstream of it.
_UNFINISHED = f"""
WITH RECURSIVE excused (id) AS (
    SELECT id FROM job WHERE state = '{State.EXPECTED}'
    UNION
    SELECT need.child FROM excused JOIN need ON need.parent = excused.id JOIN job ON job.id = need.child
    WHERE need.met IS NULL AND job.state = '{State.WAITING}'
)
SELECT job.app || '/' || job.key || ' ' || job.state FROM job
WHERE state IN ('{State.WAITING}', '{State.READY}', '{State.RUNNING}', '{State.EXECUTED}', '{State.SUSPENDED}')
  AND NOT EXISTS (SELECT 1 FROM excused WHERE excused.id = job.id)
"""
_UNTOLD = """
SELECT app || '/' || key || ' has news for its children' FROM propagation_outbox
    JOIN job ON job.id = propagation_outbox.job
"""


def has_written(tx: Tx) -> bool:
    """Return whether this transaction has written anything."""
    return bool(tx.column(_WRITES)[0])


def open_submissions(tx: Tx) -> list[str]:
    """Return the submissions that have not ended, each with its state."""
    return tx.column(_OPEN_SUBMISSIONS)


def unfinished(tx: Tx) -> list[str]:
    """Return the jobs that have yet to end, each with its state."""
    return tx.column(_UNFINISHED)


def untold(tx: Tx) -> list[str]:
    """Return the ended jobs that have not been propagated to their children."""
    return tx.column(_UNTOLD)


_MOVES = """
SELECT job.app, job.key, transition.target, transition.at
FROM transition JOIN job ON job.id = transition.job ORDER BY transition.id
"""


class Move(Struct, frozen=True):
    """Transition of a job into a state."""

    app: str
    key: str
    target: State
    at: datetime


def moves(tx: Tx) -> list[Move]:
    return tx.structs(Move, _MOVES)
