"""Where job managers find what they started (see ``jobs.managed``).

What holds: a handle is stored only under the claim that stands, and stays over lost leases and hand-backs, so
the next claim of the round reads it. It is forgotten where the job starts anew: with a recorded outcome, a timeout
that leaves another try, a new life. A job that is over keeps it for as long as nobody has ended the work: it
was cancelled, has expired, or its worker died. Whoever ends it then is led there by it: the worker that has just
heard, or one that is sent to (``watching``).
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
# A job that runs without a handle under another claim is at this moment starting its work, or finding this
# very work again by its token; one that only waits without a handle will start anew.
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
    """Store what the claim has started. False: the claim does not stand any more, and nothing was stored."""
    return bool(tx.write(_KEEP, **_named(right, handle)))


def keeper(tx: Tx, right: Claim, handle: JSON) -> Keeper:
    """Who looks after what the claim has started."""
    found = tx.column(_KEEPER, **_named(right, handle))
    return Keeper(found[0]) if found else Keeper.NOBODY


def forget(tx: Tx, right: Claim, handle: JSON) -> None:
    """The work of a job that is over has been ended; of one that lives again it is forgotten already."""
    tx.write(_FORGET, **_named(right, handle))


def bequeath(tx: Tx, right: Claim, handle: JSON) -> None:
    """Leave to others what the last claim of a job that is over could not end, where they could not know of it."""
    tx.write(_BEQUEATH, **_named(right, handle))


def _named(right: Claim, handle: JSON) -> dict[str, object]:
    return {"job": right.job, "claim": right.number, "handle": msgspec.json.encode(handle).decode()}
