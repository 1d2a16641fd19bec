"""Litter: blobs of rounds that are no more, and the names of those that never were of any.

What holds: a round and the note that its blobs are to be thrown away change places in one transaction (``pruning``).
The note goes once the blob has gone. Whoever takes some has a while for it; if he dies, or the store does not answer,
somebody takes them again, and a blob that has gone already is as good as thrown away.
"""

from collections.abc import Sequence

from sluice.ledger.connection import Tx
from sluice.ledger.sql import NOW

#: So long nobody else tries to throw away what somebody has taken.
PATIENCE_S = 60.0

_TAKE = f"""
UPDATE litter SET try_at = {NOW} + make_interval(secs => {PATIENCE_S})
WHERE blob IN (SELECT blob FROM litter WHERE try_at <= {NOW} ORDER BY try_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
RETURNING blob
"""
_GONE = "DELETE FROM litter WHERE blob = ANY(%(blobs)s)"
_COUNT = "SELECT count(*) FROM litter"
# By the two indexes of rounds that have any.
_UNKNOWN = """
SELECT given.blob FROM unnest(%(blobs)s::text[]) AS given (blob)
WHERE NOT EXISTS (SELECT 1 FROM round WHERE round.output_blob = given.blob)
  AND NOT EXISTS (SELECT 1 FROM round WHERE round.stderr_blob = given.blob)
  AND NOT EXISTS (SELECT 1 FROM litter WHERE litter.blob = given.blob)
"""


def take(tx: Tx, limit: int) -> list[str]:
    """So many blobs, for the caller to throw away now."""
    return tx.column(_TAKE, limit=limit)


def gone(tx: Tx, blobs: Sequence[str]) -> None:
    """These are no more."""
    tx.write(_GONE, blobs=[*blobs])


def left(tx: Tx) -> int:
    """How many are still to be thrown away, by whomever."""
    return int(tx.column(_COUNT)[0])


def unknown(tx: Tx, blobs: Sequence[str]) -> list[str]:
    """Those of the blobs that no round has, and that are not litter: whoever stored them never said so."""
    return tx.column(_UNKNOWN, blobs=[*blobs])
