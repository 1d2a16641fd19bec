"""Whether anything is left that will happen by itself."""

from jobs.states import State
from jobs.submission import SubmissionState
from ledger.connection import Tx

# A job whose gates are shut moves only if a parent does; then that parent is what is left to do.
_BUSY = f"""
SELECT EXISTS (SELECT 1 FROM submission WHERE state = '{SubmissionState.RECEIVED}')
    OR EXISTS (SELECT 1 FROM owed)
    OR EXISTS (SELECT 1 FROM job WHERE state IN ('{State.READY}', '{State.RUNNING}', '{State.EXECUTED}')
               OR state = '{State.WAITING}' AND open)
"""


def idle(tx: Tx) -> bool:
    """Nothing is due, now or later, without somebody asking for it."""
    return not tx.column(_BUSY)[0]
