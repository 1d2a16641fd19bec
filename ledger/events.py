"""What is said to the flight of a saga: it ends a wait, or is kept for one that is to come.

What holds: an event is for the flight that its job has when it comes, and ends one wait of that at the most: the
entry of the journal that names it has taken it. Whoever says the same thing twice, by its token, is heard once.
Who races whom is in ``suspending``.
"""

from enum import StrEnum

import msgspec
from msgspec import Struct

from jobs.ref import JobName
from jobs.states import TERMINAL, State
from jobs.submission import JSON
from ledger import suspending
from ledger.connection import Tx
from ledger.release import Ready
from ledger.sql import NOW

_HOLD = "SELECT id, state, flight, event FROM job WHERE app = %(app)s AND key = %(key)s FOR UPDATE"
_HEARD = "SELECT id FROM event WHERE job = %(job)s AND token = %(token)s"
_ADD = f"""
INSERT INTO event (job, flight, token, name, payload, by, at)
SELECT %(job)s, %(flight)s, %(token)s, %(name)s, %(payload)s::jsonb, %(by)s, {NOW}
ON CONFLICT (job, token) DO NOTHING
"""


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
    REPEATED = "repeated"
    #: The job has ended; nothing is kept.
    TOO_LATE = "too_late"
    UNKNOWN = "unknown"


class Came(Struct, frozen=True):
    """``state`` is what the job was in when the event came, ``ready`` are jobs to announce."""

    became: Became
    state: State | None = None
    ready: list[Ready] = []


def come(tx: Tx, name: JobName, said: Said) -> Came:
    """Say this to a job that has not ended."""
    found = tx.rows(_HOLD, app=name.app, key=name.key)
    if not found:
        return Came(Became.UNKNOWN)
    job, state, flight, awaited = found[0]
    if state in TERMINAL:
        heard = tx.column(_HEARD, job=job, token=said.token)
        return Came(Became.REPEATED if heard else Became.TOO_LATE, State(state))
    payload = msgspec.json.encode(said.payload).decode()
    named = {"job": job, "flight": flight, "token": said.token, "name": said.name, "by": said.by}
    if not tx.write(_ADD, **named, payload=payload):
        return Came(Became.REPEATED, State(state))
    if state != State.SUSPENDED or (awaited is not None and said.name not in {None, awaited}):
        return Came(Became.KEPT, State(state))
    return Came(Became.RESUMED, State(state), suspending.resume(tx, [job]))
