"""Events for the flight of a saga: an event ends a wait, or is kept for a later wait.

Invariants: an event belongs to the flight that its job has when the event comes, and ends at most one wait of that
flight: the journal entry that names the event has taken it. An event that is sent twice, with the same token, counts
once. The races are described in ``suspension``.

A job that does not exist may be about to be planned. An event for it is kept for a day under the job's name, and the
groomer hands it on. The transaction that plans the job may not see the event yet, and the sender may not see the job.
The next tick sees both.
"""

from enum import StrEnum

import msgspec
from msgspec import Struct

from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import JSON
from sluice.jobs.states import TERMINAL, State, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import NOW
from sluice.ledger.job_graph.readiness import ReadyJob
from sluice.ledger.sagas import suspension

_HOLD = "SELECT id, state, flight, event FROM job WHERE app = %(app)s AND key = %(key)s FOR UPDATE"
_HEARD = "SELECT id FROM saga_signal WHERE job = %(job)s AND token = %(token)s"
_ADD = f"""
INSERT INTO saga_signal (job, flight, token, name, payload, by, at)
SELECT %(job)s, %(flight)s, %(token)s, %(name)s, %(payload)s::jsonb, %(by)s, {NOW}
ON CONFLICT (job, token) DO NOTHING
"""
#: Seconds for which an event is kept if its job does not exist: a day.
KEPT_S = 86_400.0
_KEEP_EARLY = f"""
INSERT INTO saga_signal_early (app, key, token, name, payload, by, at)
VALUES (%(app)s, %(key)s, %(token)s, %(name)s, %(payload)s::jsonb, %(by)s, {NOW})
ON CONFLICT (app, key, token) DO NOTHING
"""
_STALE = f"saga_signal_early.at < {NOW} - make_interval(secs => {KEPT_S})"
#: Finds events that were kept early and can be handed on by now, or were kept for long enough. The groomer uses it.
KEPT_EARLY = f"""
SELECT 1 FROM saga_signal_early
WHERE {_STALE} OR (SELECT true FROM job WHERE job.app = saga_signal_early.app AND job.key = saga_signal_early.key)
"""
# The jobs are held. If two transactions hand on the same event, the second finds it gone. For a job that has ended, an
# event comes too late.
_HAND_ON = f"""
WITH held AS MATERIALIZED (
    SELECT saga_signal_early.id, job.id AS job, job.state, job.flight FROM saga_signal_early JOIN job USING (app, key)
    ORDER BY job.id, saga_signal_early.id LIMIT %(limit)s FOR UPDATE OF job
), kept AS (
    DELETE FROM saga_signal_early USING held WHERE saga_signal_early.id = held.id
    RETURNING saga_signal_early.*, held.job, held.state, held.flight
)
INSERT INTO saga_signal (job, flight, token, name, payload, by, at)
SELECT job, flight, token, name, payload, by, at FROM kept
WHERE state NOT IN ({sql_list(*sorted(TERMINAL))}) ORDER BY id
ON CONFLICT (job, token) DO NOTHING RETURNING job
"""
_DROP_STALE = f"""
DELETE FROM saga_signal_early WHERE id IN (SELECT id FROM saga_signal_early WHERE {_STALE} LIMIT %(limit)s)
"""


class EventRequest(Struct, frozen=True, kw_only=True):
    """Event as it is sent.

    Without a ``name`` it ends any wait. ``by`` is the sender, for people. A repeated delivery has the same ``token``, a
    second event another.
    """

    name: str | None = None
    payload: JSON = None
    by: str | None = None
    token: str


class EventOutcome(StrEnum):
    """Effect of an event."""

    RESUMED = "resumed"
    #: No wait for it has begun yet.
    KEPT = "kept"
    #: The job does not exist yet.
    EARLY = "early"
    REPEATED = "repeated"
    #: The job has ended; the event is not kept.
    TOO_LATE = "too_late"
    UNKNOWN = "unknown"


class EventDelivery(Struct, frozen=True):
    """Result of sending an event. ``state`` is the job's state when it came; ``ready`` jobs must be announced."""

    became: EventOutcome
    state: State | None = None
    ready: list[ReadyJob] = []


def deliver(tx: Tx, name: JobName, said: EventRequest, *, may_be_early: bool = False) -> EventDelivery:
    """Send an event to a job that has not ended; if ``may_be_early``, also to a job that does not exist yet."""
    payload = msgspec.json.encode(said.payload).decode()
    found = tx.rows(_HOLD, app=name.app, key=name.key)
    if not found:
        return _keep_early(tx, name, said, payload) if may_be_early else EventDelivery(EventOutcome.UNKNOWN)
    job, state, flight, awaited = found[0]
    if state in TERMINAL:
        heard = tx.column(_HEARD, job=job, token=said.token)
        return EventDelivery(EventOutcome.REPEATED if heard else EventOutcome.TOO_LATE, State(state))
    named = {"job": job, "flight": flight, "token": said.token, "name": said.name, "by": said.by}
    if not tx.write(_ADD, **named, payload=payload):
        return EventDelivery(EventOutcome.REPEATED, State(state))
    if state != State.SUSPENDED or (awaited is not None and said.name not in {None, awaited}):
        return EventDelivery(EventOutcome.KEPT, State(state))
    return EventDelivery(EventOutcome.RESUMED, State(state), suspension.resume(tx, [job]))


def deliver_early(tx: Tx, limit: int) -> None:
    """Hand early events on to jobs that exist by now, and resume these jobs; the groomer releases them.

    Events that were kept for too long are removed.
    """
    suspension.resume_signalled(tx, sorted({*tx.column(_HAND_ON, limit=limit)}))
    tx.write(_DROP_STALE, limit=limit)


def _keep_early(tx: Tx, name: JobName, said: EventRequest, payload: str) -> EventDelivery:
    words = {"token": said.token, "name": said.name, "by": said.by, "payload": payload}
    kept = tx.write(_KEEP_EARLY, app=name.app, key=name.key, **words)
    return EventDelivery(EventOutcome.EARLY if kept else EventOutcome.REPEATED)
