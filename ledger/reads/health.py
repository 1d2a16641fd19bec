"""What an operator looks at first: who waits for how long, who is there to take it up, and what has come to a stop.

What holds: each of it costs what it shows, however many jobs there are.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

from msgspec import Struct

from sluice.jobs.states import State
from sluice.jobs.submission import SubmissionState
from sluice.ledger.connection import Tx
from sluice.ledger.reads import fleet
from sluice.ledger.sql import NOW

#: Of an app's ready jobs so many are looked at, those first that were made first.
LOOKED_AT = 100
#: A received submission is planned within moments; a firing by the next look of the scheduler.
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
    """``unplanned_since``: when the submission came that nobody has planned for a minute. ``led_at``: when a process
    last said that it leads; None where none ever has."""

    at: datetime
    unplanned_since: datetime | None
    led_at: datetime | None
    late_schedules: list[str]
    lost_workers: int


def oldest_ready(tx: Tx, apps: Collection[str]) -> dict[str, datetime]:
    """Since when the job of each app is ready that has been for longest, of those that were made first."""
    return dict(tx.rows(_OLDEST, apps=sorted(apps)))


def servers(tx: Tx, queues: Sequence[str]) -> dict[str, int]:
    """How many living workers take from each of the queues from which one does."""
    return dict(tx.rows(_SERVERS, queues=list(queues)))


def stopped(tx: Tx) -> Stopped:
    return tx.structs(Stopped, _STOPPED)[0]
