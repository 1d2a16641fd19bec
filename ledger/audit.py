"""Acts, and who asked for them.

What holds: an act is written in the very transaction that carries it out (``Ledger.beside``). So there is none without
the act and no act without it, whatever crashes: before the commit there is neither, after it there are both. Where the
answer to a commit is lost, the act is run again and finds itself done, and this is written once, by its token. What a
crash leaves after the commit: workers may not have been told, which the groomer sees to, and whoever asked may not know
how it ended; this says so.

Not everything that one may ask for is one transaction. What is only read before the act (that a job is there, say) may
have changed by then; the act itself is refused then, and nothing is written.
"""

from collections.abc import Mapping

import msgspec

from sluice.jobs.submission import JSON
from sluice.ledger.connection import Tx
from sluice.ledger.sql import LONGEST_S, NOW

_NOTE = f"""
INSERT INTO audit (token, at, who, did, about, came_to)
VALUES (%(token)s, {NOW}, %(who)s, %(did)s, %(about)s::jsonb, %(came_to)s::jsonb)
ON CONFLICT (token) DO NOTHING
"""
_BEFORE = f"{NOW} - make_interval(secs => least(%(keep_s)s, {LONGEST_S}))"
# They were written in the order of their ids, but for some moments; so who looks at the first ones finds the oldest.
_REMOVE = f"""
DELETE FROM audit WHERE id IN (
    SELECT id FROM (SELECT id, at FROM audit ORDER BY id LIMIT %(limit)s) oldest WHERE at < {_BEFORE})
"""
_COUNT = f"SELECT count(*) FROM audit WHERE at < {_BEFORE}"


def note(
    tx: Tx,
    *,
    token: str,
    who: str,
    did: str,
    about: Mapping[str, JSON],
    came_to: Mapping[str, JSON],
) -> None:
    """This transaction carries out what somebody has asked for."""
    told = {"about": _written(about), "came_to": _written(came_to)}
    tx.write(_NOTE, token=token, who=who, did=did, **told)


def prune(tx: Tx, *, keep_s: float, limit: int) -> int:
    """Forget so many that are older than that; how many."""
    return tx.write(_REMOVE, keep_s=keep_s, limit=limit)


def prunable(tx: Tx, *, keep_s: float) -> int:
    """How many of these there are."""
    return int(tx.column(_COUNT, keep_s=keep_s)[0])


def _written(words: Mapping[str, JSON]) -> str:
    return msgspec.json.encode(words).decode()
