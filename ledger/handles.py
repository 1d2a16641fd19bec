"""Handles, by which job managers find the work that they started (see ``jobs.managed``).

Invariants: a handle is stored only under the current claim. It survives lost leases and hand-backs, so the next claim
of the round reads it. It is removed when the job starts again from nothing: with a recorded outcome, with a timeout
that leaves another try, with a rerun. A job that is over (cancelled, expired, or its worker died) keeps its handle
until its work is ended. By the handle, that work is found by the worker that has just learned of the end, or by a
worker that is sent to end it (``watching``).
"""

import msgspec

from sluice.jobs.managed import Keeper
from sluice.jobs.ref import Claim
from sluice.jobs.states import LIVE, State, sql_list
from sluice.jobs.submission import JSON
from sluice.ledger.connection import Tx
from sluice.ledger.sql import NOW

_LIVE = sql_list(*sorted(LIVE))

_KEEP = f"""
UPDATE job SET handle = %(handle)s::jsonb
WHERE id = %(job)s AND state = '{State.RUNNING}' AND claim = %(claim)s
"""
# A job that runs without a handle under another claim is starting its work now, or is finding this same work by its
# token. A job that only waits without a handle will start again from nothing.
_KEEPER = f"""
SELECT CASE
    WHEN state = '{State.RUNNING}' AND claim = %(claim)s THEN '{Keeper.OURS}'
    WHEN state IN ({_LIVE}) AND handle = %(handle)s::jsonb THEN '{Keeper.ANOTHER}'
    WHEN state = '{State.RUNNING}' AND handle IS NULL THEN '{Keeper.ANOTHER}'
    ELSE '{Keeper.NOBODY}' END
FROM job WHERE id = %(job)s
"""
_FORGET = f"""
UPDATE job SET handle = NULL, watch_at = NULL, misses = 0, said = NULL
WHERE id = %(job)s AND state NOT IN ({_LIVE}) AND claim = %(claim)s AND handle = %(handle)s::jsonb
"""
_BEQUEATH = f"""
UPDATE job SET handle = %(handle)s::jsonb, watch_at = {NOW}
WHERE id = %(job)s AND state NOT IN ({_LIVE}) AND claim = %(claim)s AND handle IS NULL
"""


def keep(tx: Tx, right: Claim, handle: JSON) -> bool:
    """Store the handle of work that the claim has started. If the claim is lost, store nothing and return False."""
    return bool(tx.write(_KEEP, **_named(right, handle)))


def keeper(tx: Tx, right: Claim, handle: JSON) -> Keeper:
    """Return whether this claim, another claim or none is responsible for the work that this claim has started."""
    found = tx.column(_KEEPER, **_named(right, handle))
    return Keeper(found[0]) if found else Keeper.NOBODY


def forget(tx: Tx, right: Claim, handle: JSON) -> None:
    """Remove the handle of an ended job, because its work was ended. A revived job has lost it already."""
    tx.write(_FORGET, **_named(right, handle))


def bequeath(tx: Tx, right: Claim, handle: JSON) -> None:
    """Store the handle of work that the last claim of an ended job could not end, so that other workers can end it."""
    tx.write(_BEQUEATH, **_named(right, handle))


def _named(right: Claim, handle: JSON) -> dict[str, object]:
    return {"job": right.job, "claim": right.number, "handle": msgspec.json.encode(handle).decode()}
