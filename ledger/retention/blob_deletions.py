"""Pending deletions of blobs that belonged to removed rounds, and the search for blobs that no round ever had.

Invariants: a round is removed and the deletions of its blobs are stored in the same transaction (``removal``). A
deletion is removed once its blob is gone. A process that takes some has a while to delete them. If it dies, or the
store does not answer, another process takes them again. A blob that is gone already counts as deleted.
"""

from collections.abc import Sequence

from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import NOW

#: Seconds before another process may retry a deletion that was started.
PATIENCE_S = 60.0

_TAKE = f"""
UPDATE blob_deletion SET next_attempt_at = {NOW} + make_interval(secs => {PATIENCE_S})
WHERE blob = ANY(ARRAY(SELECT blob FROM blob_deletion WHERE next_attempt_at <= {NOW} ORDER BY next_attempt_at
    LIMIT %(limit)s FOR UPDATE SKIP LOCKED))
RETURNING blob
"""
_GONE = "DELETE FROM blob_deletion WHERE blob = ANY(%(blobs)s)"
_COUNT = "SELECT count(*) FROM blob_deletion"
# By the three partial indexes of rounds with blobs.
_UNKNOWN = """
SELECT given.blob FROM unnest(%(blobs)s::text[]) AS given (blob)
WHERE NOT EXISTS (SELECT 1 FROM round WHERE round.output_blob = given.blob)
  AND NOT EXISTS (SELECT 1 FROM round WHERE round.stderr_blob = given.blob)
  AND NOT EXISTS (SELECT 1 FROM round WHERE round.result_blob = given.blob)
  AND NOT EXISTS (SELECT 1 FROM blob_deletion WHERE blob_deletion.blob = given.blob)
"""


def take(tx: Tx, limit: int) -> list[str]:
    """Take at most ``limit`` pending deletions; return the blobs, which the caller must delete now."""
    return tx.column(_TAKE, limit=limit)


def gone(tx: Tx, blobs: Sequence[str]) -> None:
    """Remove the pending deletions of these blobs, which are gone."""
    tx.write(_GONE, blobs=[*blobs])


def left(tx: Tx) -> int:
    """Return the number of pending deletions, taken or not."""
    return int(tx.column(_COUNT)[0])


def unknown(tx: Tx, blobs: Sequence[str]) -> list[str]:
    """Return the blobs that no round has and that are not pending deletions: they were stored but never recorded."""
    return tx.column(_UNKNOWN, blobs=[*blobs])
