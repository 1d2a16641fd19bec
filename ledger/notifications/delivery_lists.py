"""Lists of deliveries with their events, the newest first."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from sluice.jobs.notifications.rules import JobEvent, Receiver
from sluice.ledger.database.connection import Tx

#: A delivery is accepted by its receiver, is attempted again, or was given up.
DeliveryState = Literal["delivered", "pending", "dead"]

_STATE = """
CASE WHEN delivery.dead_at IS NOT NULL THEN 'dead' WHEN delivery.delivered_at IS NOT NULL THEN 'delivered'
     ELSE 'pending' END
"""
# Spelled out, so that the partial indexes on dead and pending deliveries can be used.
_IN_STATE = {
    None: "true",
    "delivered": "delivery.delivered_at IS NOT NULL",
    "pending": "delivery.next_at IS NOT NULL",
    "dead": "delivery.dead_at IS NOT NULL",
}
_LISTED = f"""
SELECT delivery.number, notification.id AS event_id, notification.event, notification.at, job.app, job.key,
       delivery.submission, receiver.target, {_STATE} AS state, delivery.attempts, delivery.error,
       coalesce(delivery.dead_at, delivery.delivered_at, delivery.next_at) AS state_at
FROM delivery JOIN notification ON notification.number = delivery.notification
JOIN receiver ON receiver.number = delivery.receiver JOIN job ON job.id = notification.job
WHERE delivery.number < %(before)s
"""
# As an array, so that the index on the event is used.
_OF_JOB = """
delivery.notification = ANY(ARRAY(
    SELECT number FROM notification WHERE job = (SELECT id FROM job WHERE app = %(app)s AND key = %(key)s)))
"""
_MAX = 2**63 - 1


class ListedDelivery(Struct, frozen=True, kw_only=True):
    """Delivery with its event. ``state_at`` is the time at which it was delivered or given up. For a pending delivery
    it is the time of the next attempt. ``submission`` is set if the rule belongs to a submission."""

    number: int
    event_id: UUID
    event: JobEvent
    at: datetime
    app: str
    key: str
    submission: str | None
    target: Receiver
    state: DeliveryState
    attempts: int
    error: str | None
    state_at: datetime


def deliveries(
    tx: Tx,
    *,
    job: tuple[str, str] | None = None,
    state: DeliveryState | None = None,
    apps: Sequence[str] | None = None,
    before: int | None = None,
    limit: int,
) -> list[ListedDelivery]:
    """Return deliveries, of the events of one job or of all jobs, and only of jobs of these ``apps``. None does not
    restrict."""
    conditions = [
        _IN_STATE[state],
        *([] if job is None else [_OF_JOB]),
        *([] if apps is None else ["job.app = ANY(%(apps)s)"]),
    ]
    sql = f"{_LISTED} AND {' AND '.join(conditions)} ORDER BY delivery.number DESC LIMIT %(limit)s"
    app, key = job or (None, None)
    given = {"app": app, "key": key, "before": _MAX if before is None else before, "limit": limit}
    return tx.structs(ListedDelivery, sql, **given, apps=None if apps is None else [*apps])
