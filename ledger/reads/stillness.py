"""Checks after each step of a simulation: whether anything is left to happen."""

from sluice.jobs.states import State
from sluice.jobs.submission import SubmissionState
from sluice.ledger.connection import Tx

_WRITES = "SELECT pg_current_xact_id_if_assigned() IS NOT NULL"
_OPEN_SUBMISSIONS = f"""
SELECT id || ' is ' || state FROM submission
WHERE state IN ('{SubmissionState.RECEIVED}', '{SubmissionState.ACTIVE}') ORDER BY number
"""
# Invariants I5 and I4: wanted jobs end, and no job that could run is left waiting. A pushed job may wait indefinitely
# for a parent that no submission requested, and so may the jobs downstream of it.
_UNFINISHED = f"""
WITH RECURSIVE excused (id) AS (
    SELECT id FROM job WHERE state = '{State.EXPECTED}'
    UNION
    SELECT need.child FROM excused JOIN need ON need.parent = excused.id JOIN job ON job.id = need.child
    WHERE need.settled IS NULL AND job.state = '{State.WAITING}'
)
SELECT job.app || '/' || job.key || ' ' || job.state FROM job
WHERE state IN ('{State.WAITING}', '{State.READY}', '{State.RUNNING}', '{State.EXECUTED}', '{State.SUSPENDED}')
  AND NOT EXISTS (SELECT 1 FROM excused WHERE excused.id = job.id)
"""
_UNTOLD = "SELECT app || '/' || key || ' has news for its children' FROM owed JOIN job ON job.id = owed.job"


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
