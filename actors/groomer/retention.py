"""Retention: old history is removed in batches, and its blobs once that is committed."""

import logging
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from itertools import islice

from msgspec import Struct

from sluice.jobs.blobs import BlobStore, BlobsUnavailable
from sluice.jobs.observe.failpoints import Failpoint, reached
from sluice.jobs.runners.output_blobs import is_output
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.database.transitions import LONGEST_S
from sluice.ledger.retention import blob_deletions, removal
from sluice.ledger.retention.removal import START, RemovalStep, Removed

_LOG = logging.getLogger("sluice.retention")

#: Number of jobs that one step examines, and number of blobs that it deletes.
LIMIT = 1000
BLOBS = 100
#: Seconds after which a blob without a round is an orphan: a day. A blob is in the store before its round is in the
#: ledger.
ORPHANED_S = 86400.0


class SweepResult(Struct, frozen=True, kw_only=True):
    """Result of pruning. ``blobs`` were deleted, including blobs of rounds that were removed earlier. ``orphans`` are
    deleted blobs that no round had."""

    removed: Removed
    blobs: int
    orphans: int


class Retention:
    """Retention of a process, one step on each tick. ``keep_s`` None keeps everything indefinitely."""

    def __init__(self, ledger: Ledger, blobs: BlobStore, keep_s: float | None) -> None:
        self._ledger = ledger
        self._blobs = blobs
        self._keep_s = keep_s

    def tick(self) -> None:
        """Do one bounded step. Only one process at a time searches for old history. If there is none, this costs two
        look-ups by key."""
        if (keep_s := self._keep_s) is None:
            return
        removed = self._ledger.transact(partial(_sweep, keep_s=keep_s))
        if removed != Removed():
            reached(Failpoint.SWEEP_COMMITTED)
            _LOG.info("the history of %d jobs was removed, and %d workers", removed.jobs, removed.workers)
        try:
            delete_blobs(self._ledger, self._blobs)
        except BlobsUnavailable as error:
            _LOG.warning("blobs of removed rounds will be deleted later: %s", error.what)


def _sweep(tx: Tx, *, keep_s: float) -> Removed:
    removed = removal.sweep(tx, keep_s=keep_s, limit=LIMIT)
    if removed != Removed():
        reached(Failpoint.SWEEP_WRITTEN)
    return removed


def delete_blobs(ledger: Ledger, blobs: BlobStore) -> int:
    """Delete a batch of blobs of removed rounds, and return their number. If the store fails, the rest is left for
    another time."""
    taken = ledger.transact(lambda tx: blob_deletions.take(tx, BLOBS))
    gone: list[str] = []
    try:
        for blob in taken:
            if is_output(blob):
                blobs.remove(blob)
            else:  # Not tried again, because a worker stores no blob under such a name.
                _LOG.warning("the ledger names a blob that no worker has stored; it is not deleted: %r", blob)
            reached(Failpoint.BLOB_REMOVED)
            gone.append(blob)
    finally:
        if gone:
            ledger.transact(lambda tx: blob_deletions.gone(tx, gone))
    return len(gone)


def prune(ledger: Ledger, blobs: BlobStore, *, keep_s: float, orphans: bool = False) -> SweepResult:
    """Remove all history that is old enough, and its blobs. With ``orphans``, also remove blobs that no round of this
    ledger has.

    BlobsUnavailable if the store does not answer. History that was removed by then stays removed, and the next call
    deletes its blobs.
    """
    removed = _all(ledger, removal.prune, keep_s)
    while (
        others := ledger.transact(lambda tx: removal.prune_others(tx, keep_s=keep_s, limit=LIMIT))
    ) != Removed():
        removed += others
    thrown = 0
    while count := delete_blobs(ledger, blobs):
        thrown += count
    found = [*_orphans(ledger, blobs, keep_s)] if orphans else []
    for blob in found:
        blobs.remove(blob)
    return SweepResult(removed=removed, blobs=thrown, orphans=len(found))


def preview(ledger: Ledger, blobs: BlobStore, *, keep_s: float, orphans: bool = False) -> SweepResult:
    """Return the result that ``prune`` would have. It changes nothing."""
    removed = _all(ledger, removal.preview, keep_s)
    removed += ledger.transact(lambda tx: removal.preview_others(tx, keep_s=keep_s))
    litters = ledger.transact(blob_deletions.left)
    found = sum(1 for _ in _orphans(ledger, blobs, keep_s)) if orphans else 0
    return SweepResult(removed=removed, blobs=removed.blobs + litters, orphans=found)


def _all(ledger: Ledger, step: Callable[..., RemovalStep], keep_s: float) -> Removed:
    """Repeat a step until no job is left. Each step is a transaction of its own and includes jobs that are old enough
    by then."""
    removed, place = Removed(), START

    def work(tx: Tx, after: removal.RemovalPosition) -> RemovalStep:
        return step(tx, keep_s=keep_s, after=after, limit=LIMIT)

    while True:
        stretch = ledger.transact(lambda tx, after=place: work(tx, after))  # type: ignore[misc] # it is bound now
        removed += stretch.removed
        if stretch.place is None:
            return removed
        place = stretch.place


def _orphans(ledger: Ledger, blobs: BlobStore, keep_s: float) -> Iterator[str]:
    now = ledger.transact(lambda tx: tx.current_time())
    before = now - timedelta(seconds=min(max(keep_s, ORPHANED_S), LONGEST_S))
    old = (each.name for each in blobs.stored() if each.at < before and is_output(each.name))
    while names := list(islice(old, LIMIT)):
        yield from ledger.transact(lambda tx, names=names: blob_deletions.unknown(tx, names))  # type: ignore[misc] # ``names`` is bound when the lambda is made
