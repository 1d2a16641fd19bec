"""What is said to the flight of a saga: it ends a wait, or is kept for one that is to come.

What holds: an event is for the flight that its job has when it comes, and ends one wait of that at the most: the
entry of the journal that names it has taken it. Whoever says the same thing twice, by its token, is heard once.
Who races whom is in ``suspending``.

A job that is not there may be about to be planned. What is said to it is kept by its name, for a day, and the groomer
hands it on: whoever plans the job may not see yet what is kept, nor whoever keeps it the job, but the next tick sees
both.
"""

from enum import StrEnum

import msgspec
from msgspec import Struct

from sluice.jobs.ref import JobName
from sluice.jobs.states import TERMINAL, State, sql_list
from sluice.jobs.submission import JSON
from sluice.ledger import suspending
from sluice.ledger.connection import Tx
from sluice.ledger.release import Ready
from sluice.ledger.sql import NOW

_HOLD = "SELECT id, state, flight, event FROM job WHERE app = %(app)s AND key = %(key)s FOR UPDATE"
_HEARD = "SELECT id FROM event WHERE job = %(job)s AND token = %(token)s"
_ADD = f"""
INSERT INTO event (job, flight, token, name, payload, by, at)
SELECT %(job)s, %(flight)s, %(token)s, %(name)s, %(payload)s::jsonb, %(by)s, {NOW}
ON CONFLICT (job, token) DO NOTHING
"""
#: So long an event is kept for a job that is not there.
KEPT_S = 86_400.0
_KEEP_EARLY = f"""
INSERT INTO early (app, key, token, name, payload, by, at)
VALUES (%(app)s, %(key)s, %(token)s, %(name)s, %(payload)s::jsonb, %(by)s, {NOW})
ON CONFLICT (app, key, token) DO NOTHING
"""
_STALE = f"early.at < {NOW} - make_interval(secs => {KEPT_S})"
#: Of what was kept early: what may be handed on by now, or has been kept for long enough. The groomer looks for these.
KEPT_EARLY = f"""
SELECT 1 FROM early
WHERE {_STALE} OR (SELECT true FROM job WHERE job.app = early.app AND job.key = early.key)
"""
# The jobs are held; of two who hand on the same, the second finds it gone. For a job that has ended it is too late.
_HAND_ON = f"""
WITH held AS MATERIALIZED (
    SELECT early.id, job.id AS job, job.state, job.flight FROM early JOIN job USING (app, key)
    ORDER BY job.id, early.id LIMIT %(limit)s FOR UPDATE OF job
), kept AS (
    DELETE FROM early USING held WHERE early.id = held.id
    RETURNING early.*, held.job, held.state, held.flight
)
INSERT INTO event (job, flight, token, name, payload, by, at)
SELECT job, flight, token, name, payload, by, at FROM kept
WHERE state NOT IN ({sql_list(*sorted(TERMINAL))}) ORDER BY id
ON CONFLICT (job, token) DO NOTHING RETURNING job
"""
_DROP_STALE = f"DELETE FROM early WHERE id IN (SELECT id FROM early WHERE {_STALE} LIMIT %(limit)s)"


class Said(Struct, frozen=True, kw_only=True):
    """Without a ``name``: that it goes on, whatever it waits for. ``by`` is who says so, for people; ``token`` tells
    what is said again from what is said once more."""

    name: str | None = None
    payload: JSON = None
    by: str | None = None
    token: str


class Became(StrEnum):
    """What became of an event."""

    RESUMED = "resumed"
    #: Nothing waits for it yet.
    KEPT = "kept"
    #: The job is not there yet.
    EARLY = "early"
    REPEATED = "repeated"
    #: The job has ended; nothing is kept.
    TOO_LATE = "too_late"
    UNKNOWN = "unknown"


class Came(Struct, frozen=True):
    """``state`` is what the job was in when the event came, ``ready`` are jobs to announce."""

    became: Became
    state: State | None = None
    ready: list[Ready] = []


def come(tx: Tx, name: JobName, said: Said, *, may_be_early: bool = False) -> Came:
    """Say this to a job that has not ended; to one that is not there, where it may come to be there."""
    payload = msgspec.json.encode(said.payload).decode()
    found = tx.rows(_HOLD, app=name.app, key=name.key)
    if not found:
        return _keep_early(tx, name, said, payload) if may_be_early else Came(Became.UNKNOWN)
    job, state, flight, awaited = found[0]
    if state in TERMINAL:
        heard = tx.column(_HEARD, job=job, token=said.token)
        return Came(Became.REPEATED if heard else Became.TOO_LATE, State(state))
    named = {"job": job, "flight": flight, "token": said.token, "name": said.name, "by": said.by}
    if not tx.write(_ADD, **named, payload=payload):
        return Came(Became.REPEATED, State(state))
    if state != State.SUSPENDED or (awaited is not None and said.name not in {None, awaited}):
        return Came(Became.KEPT, State(state))
    return Came(Became.RESUMED, State(state), suspending.resume(tx, [job]))


def hand_on(tx: Tx, limit: int) -> None:
    """Tell jobs that are there by now what came before them; the groomer releases those that go on. What nobody came
    for is forgotten."""
    suspending.resume_told(tx, sorted({*tx.column(_HAND_ON, limit=limit)}))
    tx.write(_DROP_STALE, limit=limit)


def _keep_early(tx: Tx, name: JobName, said: Said, payload: str) -> Came:
    words = {"token": said.token, "name": said.name, "by": said.by, "payload": payload}
    kept = tx.write(_KEEP_EARLY, app=name.app, key=name.key, **words)
    return Came(Became.EARLY if kept else Became.REPEATED)
