"""Log of the acts that people request.

Invariants: an act is logged in the transaction that carries it out (``Ledger.beside``). So a crash leaves both the act
and its entry, or neither. If the answer to a commit is lost, the act runs again and finds itself done. The token keeps
its entry unique. After a crash right after the commit, workers may not have been notified, which the groomer repairs.
The requester may not know the result, which this log shows.

Not every request is one transaction. A fact that is read before the act, for example that a job exists, may have
changed by then. In that case the act itself is refused, and nothing is logged.
"""

from collections.abc import Mapping

import msgspec

from sluice.jobs.model.submission import JSON
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import LONGEST_S, NOW

_NOTE = f"""
INSERT INTO audit (token, at, actor, action, target, result)
VALUES (%(token)s, {NOW}, %(actor)s, %(action)s, %(target)s::jsonb, %(result)s::jsonb)
ON CONFLICT (token) DO NOTHING
"""
_BEFORE = f"{NOW} - make_interval(secs => least(%(keep_s)s, {LONGEST_S}))"
# Ids follow the time of writing, except within a few moments. So the lowest ids are the oldest entries.
_REMOVE = f"""
DELETE FROM audit WHERE id IN (
    SELECT id FROM (SELECT id, at FROM audit ORDER BY id LIMIT %(limit)s) oldest WHERE at < {_BEFORE})
"""
_COUNT = f"SELECT count(*) FROM audit WHERE at < {_BEFORE}"


def key_holder(key: str) -> str:
    """Return the actor of messages that the key with this id has signed."""
    return f"key: {key}"


def note(
    tx: Tx,
    *,
    token: str,
    actor: str,
    action: str,
    target: Mapping[str, JSON],
    result: Mapping[str, JSON],
) -> None:
    """Log the act that this transaction carries out."""
    told = {"target": _written(target), "result": _written(result)}
    tx.write(_NOTE, token=token, actor=actor, action=action, **told)


def prune(tx: Tx, *, keep_s: float, limit: int) -> int:
    """Remove at most ``limit`` entries that are older than ``keep_s``; return how many were removed."""
    return tx.write(_REMOVE, keep_s=keep_s, limit=limit)


def prunable(tx: Tx, *, keep_s: float) -> int:
    """Return the number of entries that are older than ``keep_s``."""
    return int(tx.column(_COUNT, keep_s=keep_s)[0])


def _written(words: Mapping[str, JSON]) -> str:
    return msgspec.json.encode(words).decode()
