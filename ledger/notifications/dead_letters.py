"""Deliveries that were given up: they are kept with the history of their job, and can be sent again."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from sluice.jobs.notifications.rules import JobEvent, Receiver
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import NOW

_DEAD = """
SELECT notification.id AS event_id, notification.event, notification.at, job.app, job.key, receiver.target,
       delivery.attempts, delivery.error, delivery.dead_at
FROM delivery JOIN notification ON notification.number = delivery.notification
JOIN receiver ON receiver.number = delivery.receiver JOIN job ON job.id = notification.job
WHERE delivery.dead_at IS NOT NULL ORDER BY delivery.number LIMIT %(limit)s
"""
_COUNTS = """
SELECT (SELECT count(*) FROM delivery WHERE next_at IS NOT NULL)
       + (SELECT count(*) FROM notification WHERE NOT routed),
       (SELECT count(*) FROM delivery WHERE dead_at IS NOT NULL)
"""
_COUNTS_OF_APPS = """
SELECT (SELECT count(*) FROM delivery JOIN notification ON notification.number = delivery.notification
        JOIN job ON job.id = notification.job WHERE delivery.next_at IS NOT NULL AND job.app = ANY(%(apps)s))
       + (SELECT count(*) FROM notification JOIN job ON job.id = notification.job
          WHERE NOT notification.routed AND job.app = ANY(%(apps)s)),
       (SELECT count(*) FROM delivery JOIN notification ON notification.number = delivery.notification
        JOIN job ON job.id = notification.job WHERE delivery.dead_at IS NOT NULL AND job.app = ANY(%(apps)s))
"""
# The receivers are locked in id order. An attempt that has failed meanwhile sets its own delay again.
_SEND_AGAIN = f"""
WITH held AS MATERIALIZED (
    SELECT delivery.number, delivery.receiver
    FROM delivery JOIN notification ON notification.number = delivery.notification
    WHERE delivery.dead_at IS NOT NULL AND (%(events)s::uuid[] IS NULL OR notification.id = ANY(%(events)s::uuid[]))
      AND (%(apps)s::text[] IS NULL
           OR EXISTS (SELECT FROM job WHERE job.id = notification.job AND job.app = ANY(%(apps)s)))
    ORDER BY delivery.number FOR UPDATE OF delivery
), sent AS (
    UPDATE delivery SET dead_at = NULL, attempts = 0, next_at = {NOW} FROM held WHERE delivery.number = held.number
    RETURNING delivery.number, delivery.receiver
)
SELECT number, receiver FROM sent
"""
_NO_DELAY = """
UPDATE receiver SET retry_at = NULL WHERE number = ANY(ARRAY(
    SELECT number FROM receiver WHERE number = ANY(%(receivers)s) ORDER BY number FOR UPDATE))
"""


class DeadLetter(Struct, frozen=True, kw_only=True):
    """Delivery that was given up, with its event and its last error."""

    event_id: UUID
    event: JobEvent
    at: datetime
    app: str
    key: str
    target: Receiver
    attempts: int
    error: str | None
    dead_at: datetime


class DeliveryCounts(Struct, frozen=True):
    """Numbers of events and deliveries that are ``pending``, and of deliveries that were given up (``dead``)."""

    pending: int
    dead: int


def dead_letters(tx: Tx, limit: int) -> list[DeadLetter]:
    """Return the deliveries that were given up, the oldest first."""
    return tx.structs(DeadLetter, _DEAD, limit=limit)


def delivery_counts(tx: Tx, apps: Sequence[str] | None = None) -> DeliveryCounts:
    """Return the numbers of pending and of dead deliveries. With ``apps``, only of events of their jobs."""
    rows = tx.rows(_COUNTS) if apps is None else tx.rows(_COUNTS_OF_APPS, apps=[*apps])
    return DeliveryCounts(*rows[0])


def send_again(tx: Tx, events: Sequence[UUID] | None, apps: Sequence[str] | None = None) -> int:
    """Have the deliveries of these events attempted again that were given up; None means all of them. With ``apps``,
    only deliveries about their jobs. Return their number."""
    given = {"events": None if events is None else [*events], "apps": None if apps is None else [*apps]}
    rows = tx.rows(_SEND_AGAIN, **given)
    if rows:
        tx.write(_NO_DELAY, receivers=sorted({receiver for _, receiver in rows}))
    return len(rows)
