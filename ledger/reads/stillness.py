"""Whether anything is left to happen: what simulations ask after each step."""

from sluice.jobs.states import State
from sluice.jobs.submission import SubmissionState
from sluice.ledger.connection import Tx

_WRITES = "SELECT pg_current_xact_id_if_assigned() IS NOT NULL"
_OPEN_SUBMISSIONS = f"""
SELECT id || ' is ' || state FROM submission
WHERE state IN ('{SubmissionState.RECEIVED}', '{SubmissionState.ACTIVE}') ORDER BY number
"""
# I5 and I4: what is wanted ends, and nothing that could run is left waiting. A pushed job may wait for ever
# for a parent that nobody asked for, and so may those behind it.
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
    """Whether this transaction has written anything."""
    return bool(tx.column(_WRITES)[0])


def open_submissions(tx: Tx) -> list[str]:
    """Those that have not ended, each with its state."""
    return tx.column(_OPEN_SUBMISSIONS)


def unfinished(tx: Tx) -> list[str]:
    """Jobs that have still to end, each with its state."""
    return tx.column(_UNFINISHED)


def untold(tx: Tx) -> list[str]:
    """Jobs that have ended and whose children have not been told."""
    return tx.column(_UNTOLD)
