"""Lateness: jobs that have not ended within ``due_within`` of their due time. They continue.

A job is late once, until it is requested again, which sets its time again. A job that ends between two ticks of the
groomer is not late.
"""

from sluice.jobs.notifications.rules import JobEvent
from sluice.jobs.states import TERMINAL, State, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.job_events import with_alert
from sluice.ledger.database.transitions import NOW, TIME_LIMIT

# The states as the index job_time_limit has them.
_ENDED = sql_list(*(state for state in State if state in TERMINAL))
_IS_LATE = f"""
{TIME_LIMIT} <= (SELECT {NOW}) AND NOT late AND late_at <= (SELECT {NOW}) AND state NOT IN ({_ENDED})
"""
#: Jobs that are late and not marked yet, the first of them first.
LATE_JOBS = f"SELECT id FROM job WHERE {_IS_LATE} ORDER BY late_at LIMIT %(limit)s"
_MARK_LATE = f"""
WITH held AS MATERIALIZED (
    {LATE_JOBS} FOR UPDATE SKIP LOCKED
), marked AS (
    UPDATE job SET late = true, alerts = {with_alert(JobEvent.LATE)} FROM held WHERE job.id = held.id
    RETURNING job.*
), notified AS (
    INSERT INTO notification (job, event, state, round, claim, at)
    SELECT id, '{JobEvent.LATE}', state, round, claim, {NOW} FROM marked WHERE '{JobEvent.LATE}' = ANY(notify_on)
)
SELECT id FROM marked
"""


def mark_late(tx: Tx, limit: int) -> list[int]:
    """Mark jobs that are late, and enter their events. Jobs that another transaction holds are left to the next
    call."""
    return tx.column(_MARK_LATE, limit=limit)
