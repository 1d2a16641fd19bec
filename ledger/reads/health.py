"""Health for operators: how long jobs wait, how many workers can take them, and which components have stopped.

The cost of each query depends on the size of its result, not on the number of jobs.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

from msgspec import Struct

from sluice.jobs.states import State
from sluice.jobs.submission import SubmissionState
from sluice.ledger.connection import Tx
from sluice.ledger.reads import fleet
from sluice.ledger.sql import NOW

#: Number of ready jobs of an app that are read, in the order of creation.
LOOKED_AT = 100
#: Seconds after which a received submission or a due firing is late. Normally a submission is planned within moments,
#: and a due time is fired by the next schedule check.
LATE_S = 60.0

_OLDEST = f"""
SELECT kind.app, min(first.changed_at) FROM unnest(%(apps)s::text[]) AS kind (app)
CROSS JOIN LATERAL (
    SELECT changed_at FROM job WHERE job.app = kind.app AND job.state = '{State.READY}'
    ORDER BY job.id + 0 LIMIT {LOOKED_AT}) first
GROUP BY kind.app
"""
_SERVERS = f"""
SELECT kind.app, count(*) FROM unnest(%(queues)s::text[]) AS kind (app)
JOIN worker ON {fleet.serves("kind.app")}
WHERE worker.left_at IS NULL AND worker.lease_until > {NOW} GROUP BY kind.app
"""
_STOPPED = f"""
SELECT {NOW} AS at,
  (SELECT min(received_at) FROM (
      SELECT received_at FROM submission
      WHERE state = '{SubmissionState.RECEIVED}' AND sentinel IS NULL AND paused_at IS NULL AND look_at IS NULL
      ORDER BY received_at LIMIT 1) oldest
   WHERE received_at < {NOW} - make_interval(secs => {LATE_S})) AS unplanned_since,
  (SELECT max(at) FROM pulse) AS led_at,
  coalesce((SELECT array_agg(id ORDER BY fire_at) FROM (
      SELECT id, fire_at FROM schedule
      WHERE retired_at IS NULL AND paused_at IS NULL AND fire_at < {NOW} - make_interval(secs => {LATE_S})
      ORDER BY fire_at LIMIT 20) late), '{{}}') AS late_schedules,
  (SELECT count(*) FROM worker WHERE left_at IS NULL AND lease_until <= {NOW}
      AND lease_until > {NOW} - interval '1 hour') AS lost_workers
"""


class Stopped(Struct, frozen=True, kw_only=True):
    """Signs that something has stopped. ``unplanned_since`` is when the oldest submission was received that no planner
    has planned for a minute. ``led_at`` is when a leader last reported; None if no process ever has."""

    at: datetime
    unplanned_since: datetime | None
    led_at: datetime | None
    late_schedules: list[str]
    lost_workers: int


def oldest_ready(tx: Tx, apps: Collection[str]) -> dict[str, datetime]:
    """Return, by app, since when its longest waiting job is ready. Only the jobs that were created first are
    considered."""
    return dict(tx.rows(_OLDEST, apps=sorted(apps)))


def servers(tx: Tx, queues: Sequence[str]) -> dict[str, int]:
    """Return the number of living workers that take from each of the queues. A queue without workers is left out."""
    return dict(tx.rows(_SERVERS, queues=list(queues)))


def stopped(tx: Tx) -> Stopped:
    return tx.structs(Stopped, _STOPPED)[0]
