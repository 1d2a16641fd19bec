"""Deliveries: each event goes to each of its receivers at least once.

An event is entered together with the transition that it follows from (``database.job_events``). ``route`` determines
its receivers and enters a delivery for each of them. ``take`` leases due deliveries, and ``record`` enters the results.

Races: two processes that route or take skip the rows that the other one has locked. A delivery that was taken is not
due before its lease ends, so only one process attempts it. If that process dies between the attempt and ``record``, the
delivery is attempted again with the same id.

A receiver that fails is tried again with one delivery at a time, after a growing delay. So its backlog costs few
attempts, and does not delay the deliveries to other receivers. A delivery is given up after ``ATTEMPTS_MAX`` attempts
or ``GIVE_UP_S``; it is kept, and can be sent again.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from sluice.jobs.notifications.rules import JobEvent, Receiver
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.transitions import NOW

#: Attempts of one delivery, at most: with the delays below, about six hours.
ATTEMPTS_MAX = 16
#: Seconds before the second attempt, then twice as long, and so on.
RETRY_S = 5.0
RETRY_S_MAX = 3600.0
#: Longest delay in seconds before the next delivery to a receiver that fails.
RECEIVER_RETRY_S_MAX = 60.0
#: Seconds after an event after which no attempt is repeated: a day.
GIVE_UP_S = 86_400.0
#: Seconds for which a delivery is left to the process that took it: 60, twice the longest attempt.
LEASE_S = 60.0
#: Characters of a job's error in an event, and of the error of an attempt.
ERROR_LENGTH_MAX = 2000

_TAKE_EVENTS = """
SELECT number FROM notification WHERE NOT routed ORDER BY number LIMIT %(limit)s FOR UPDATE SKIP LOCKED
"""
# A rule of a submission applies to the events of the time in which the submission was open.
_MATCHING = f"""
SELECT wanted.number, rule -> 'to' AS target, min(wanted.submission) AS submission
FROM (
    SELECT notification.number, notification.event, notification.alerts, rule, NULL AS submission
    FROM notification JOIN job ON job.id = notification.job
    CROSS JOIN LATERAL jsonb_array_elements(job.notify) AS rule
    WHERE notification.number = ANY(%(events)s)
    UNION ALL
    SELECT notification.number, notification.event, notification.alerts, rule, submission.id
    FROM notification JOIN submission_job ON submission_job.job = notification.job
    JOIN submission ON submission.number = submission_job.submission
    CROSS JOIN LATERAL jsonb_array_elements(submission.notify) AS rule
    WHERE notification.number = ANY(%(events)s) AND submission.planned_at <= notification.at
      AND coalesce(submission.ended_at >= notification.at, true)
) AS wanted
WHERE rule -> 'on' ? event AND (event <> '{JobEvent.RECOVERED}' OR rule -> 'on' ?| alerts)
GROUP BY wanted.number, rule -> 'to'
"""
_ENTER_RECEIVERS = f"""
INSERT INTO receiver (target) SELECT DISTINCT target FROM ({_MATCHING}) AS matching ORDER BY target
ON CONFLICT (target) DO NOTHING
"""
_ENTER_DELIVERIES = f"""
WITH sent AS (
    INSERT INTO delivery (notification, receiver, submission, next_at)
    SELECT matching.number, receiver.number, matching.submission, {NOW}
    FROM ({_MATCHING}) AS matching JOIN receiver USING (target) ORDER BY matching.number, receiver.number
)
UPDATE notification SET routed = true WHERE number = ANY(%(events)s)
"""
#: Query for whether an event has no receivers yet, or a delivery is due.
IS_DUE = f"""
SELECT EXISTS (SELECT FROM notification WHERE NOT routed) OR EXISTS (
    SELECT FROM receiver CROSS JOIN LATERAL (
        SELECT FROM delivery WHERE delivery.receiver = receiver.number AND next_at <= (SELECT {NOW}) LIMIT 1) AS due
    WHERE coalesce(retry_at <= {NOW}, true))
"""
_TAKE = f"""
WITH open AS MATERIALIZED (
    SELECT receiver.number,
           CASE WHEN fails > 0 THEN 1 ELSE %(together)s END - coalesce(busy.count, 0) AS room
    FROM receiver LEFT JOIN unnest(%(receivers)s::bigint[], %(counts)s::int[]) AS busy (number, count) USING (number)
    WHERE coalesce(retry_at <= {NOW}, true)
), due AS MATERIALIZED (
    SELECT each.number FROM open CROSS JOIN LATERAL (
        SELECT delivery.number FROM delivery
        WHERE delivery.receiver = open.number AND next_at <= (SELECT {NOW})
        ORDER BY next_at LIMIT greatest(open.room, 0) FOR UPDATE SKIP LOCKED) AS each
    LIMIT %(limit)s
), taken AS (
    UPDATE delivery SET attempts = attempts + 1, next_at = {NOW} + make_interval(secs => {LEASE_S})
    FROM due WHERE delivery.number = due.number
    RETURNING delivery.*
)
SELECT taken.number, taken.receiver, taken.attempts, taken.submission, receiver.target, notification.id AS event_id,
       notification.event, notification.state, notification.round, notification.at, job.app, job.key,
       left(round.error, {ERROR_LENGTH_MAX}) AS error
FROM taken JOIN receiver ON receiver.number = taken.receiver
JOIN notification ON notification.number = taken.notification
JOIN job ON job.id = notification.job
LEFT JOIN round ON round.job = notification.job AND round.claim = notification.claim
    AND notification.event = '{JobEvent.FAILED}'
ORDER BY taken.number
"""
_GIVEN = """
unnest(%(numbers)s::bigint[], %(attempts)s::int[], %(errors)s::text[]) AS given (number, attempt, error)
"""
# Only the process with the last attempt enters its result. An earlier one has lost its lease.
_RECORD = f"""
WITH held AS MATERIALIZED (
    SELECT delivery.number, given.error, given.attempt,
           given.attempt >= {ATTEMPTS_MAX} OR notification.at < {NOW} - make_interval(secs => {GIVE_UP_S}) AS is_last
    FROM delivery JOIN {_GIVEN} USING (number) JOIN notification ON notification.number = delivery.notification
    WHERE delivery.attempts = given.attempt AND delivery.next_at IS NOT NULL
    ORDER BY delivery.number FOR UPDATE OF delivery
)
UPDATE delivery SET
    error = left(held.error, {ERROR_LENGTH_MAX}),
    delivered_at = CASE WHEN held.error IS NULL THEN {NOW} END,
    dead_at = CASE WHEN held.error IS NOT NULL AND is_last THEN {NOW} END,
    next_at = CASE WHEN held.error IS NOT NULL AND NOT is_last
        THEN {NOW} + make_interval(secs => least({RETRY_S} * power(2, held.attempt - 1), {RETRY_S_MAX})) END
FROM held WHERE delivery.number = held.number
RETURNING delivery.number, delivery.receiver, delivery.error IS NULL, delivery.dead_at IS NOT NULL
"""
_RECEIVERS = f"""
WITH held AS MATERIALIZED (
    SELECT receiver.number, given.answered
    FROM receiver JOIN unnest(%(receivers)s::bigint[], %(answered)s::bool[]) AS given (number, answered) USING (number)
    ORDER BY receiver.number FOR UPDATE OF receiver
)
UPDATE receiver SET
    fails = CASE WHEN answered THEN 0 ELSE least(fails + 1, 100) END,
    retry_at = CASE WHEN NOT answered
        THEN {NOW} + make_interval(secs => least(power(2, least(fails, 10)), {RECEIVER_RETRY_S_MAX})) END
FROM held WHERE receiver.number = held.number AND NOT (answered AND fails = 0)
"""
# The rest of the backlog of a receiver that has failed for a day.
_GIVE_UP = f"""
UPDATE delivery SET dead_at = {NOW}, next_at = NULL, error = coalesce(error, 'its receiver fails')
WHERE number = ANY(ARRAY(
    SELECT delivery.number FROM delivery JOIN notification ON notification.number = delivery.notification
    WHERE delivery.receiver = ANY(%(receivers)s) AND next_at <= (SELECT {NOW})
      AND notification.at < {NOW} - make_interval(secs => {GIVE_UP_S})
    ORDER BY delivery.receiver, next_at LIMIT 1000 FOR UPDATE OF delivery SKIP LOCKED))
RETURNING number
"""


class DueDelivery(Struct, frozen=True, kw_only=True):
    """Delivery that was taken for its attempt number ``attempts``, with its event.

    ``error`` is the error of the round that failed. ``submission`` is set if the rule belongs to a submission.
    """

    number: int
    receiver: int
    attempts: int
    submission: str | None
    target: Receiver
    event_id: UUID
    event: JobEvent
    state: str
    round: int
    at: datetime
    app: str
    key: str
    error: str | None


class DeliveryAttempt(Struct, frozen=True, kw_only=True):
    """Result of one attempt. ``error`` is None if the receiver has accepted the event."""

    delivery: DueDelivery
    error: str | None


class RecordedAttempts(Struct, frozen=True, kw_only=True):
    """Numbers of the deliveries that are over: ``delivered``, or given up (``dead``)."""

    delivered: list[int]
    dead: list[int]


def is_due(tx: Tx) -> bool:
    """Return whether an event has no receivers yet, or a delivery is due."""
    return bool(tx.column(IS_DUE)[0])


def route(tx: Tx, limit: int) -> int:
    """Enter the deliveries of the oldest events that have none. Return how many events were found."""
    events = tx.column(_TAKE_EVENTS, limit=limit)
    if events:
        tx.write(_ENTER_RECEIVERS, events=events)
        tx.write(_ENTER_DELIVERIES, events=events)
    return len(events)


def take(tx: Tx, limit: int, *, together: int, busy: Mapping[int, int]) -> list[DueDelivery]:
    """Take due deliveries, and count an attempt of each.

    There are at most ``together`` for one receiver, less those that it is ``busy`` with.
    """
    return tx.structs(
        DueDelivery,
        _TAKE,
        limit=limit,
        together=together,
        receivers=list(busy),
        counts=list(busy.values()),
    )


def record(tx: Tx, attempts: Sequence[DeliveryAttempt]) -> RecordedAttempts:
    """Enter the results of attempts. The result of an attempt that has lost its lease changes nothing."""
    given = [(each.delivery.number, each.delivery.attempts, each.error) for each in attempts]
    rows = tx.rows(_RECORD, **arrays(given, "numbers", "attempts", "errors"))
    answers: dict[int, bool] = {}
    for _, receiver, answered, _ in rows:
        answers[receiver] = answered or answers.get(receiver, False)
    tx.write(_RECEIVERS, **arrays(sorted(answers.items()), "receivers", "answered"))
    failing = [receiver for receiver, answered in answers.items() if not answered]
    given_up = tx.column(_GIVE_UP, receivers=failing) if failing else []
    return RecordedAttempts(
        delivered=[number for number, _, answered, _ in rows if answered],
        dead=[*(number for number, _, _, dead in rows if dead), *given_up],
    )
