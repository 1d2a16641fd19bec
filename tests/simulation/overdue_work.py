"""Work that waits for the groomer for too long, after all faults have ended.

Each case would also show as a world that is never at rest. Here it shows at once.
"""

from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import NOW

#: Longest delay of the groomer: a tick comes every second, and its messages arrive.
_SOON = "interval '5 s'"
#: Longest time until a notification is repeated.
_HINTED = "interval '700 s'"
#: Longest run of a job, including the time in which its simulated worker is frozen. Flights may take longer.
_LONG = "interval '120 s'"

_NEGLECTED = f"""
SELECT app || '/' || key || ' waits, and its time is up' FROM job
WHERE state = '{State.SUSPENDED}' AND not_before < {NOW} - {_SOON}
UNION ALL
SELECT app || '/' || key || ' runs, and its worker is dead' FROM job JOIN worker ON worker.id = job.worker
WHERE state = '{State.RUNNING}' AND worker.lease_until < {NOW} - {_SOON}
UNION ALL
SELECT app || '/' || key || ' runs for longer than any job does' FROM job
WHERE state = '{State.RUNNING}' AND NOT saga_open AND changed_at < {NOW} - {_LONG}
UNION ALL
SELECT app || '/' || key || ' is ' || state || ', and nobody has heard' FROM job
WHERE state IN ('{State.READY}', '{State.EXECUTED}') AND dispatched_at < {NOW} - {_HINTED}
UNION ALL
SELECT id || ' is to be planned' FROM submission
WHERE state = '{SubmissionState.RECEIVED}' AND paused_at IS NULL AND next_plan_at < {NOW} - {_SOON}
"""


def neglected(tx: Tx) -> list[str]:
    return tx.column(_NEGLECTED)
