"""Retention: old history is removed in batches, and its blobs once that is committed.

A tick removes one batch, and further batches while more is old enough and its time is not used up. Each batch is a
transaction of its own, so no lock is held for longer than a batch takes. With one batch per tick, at most 1,000 jobs a
second were removed, fewer than can end. If two processes handle ticks at the same time, they take turns at the position
of the sweep, and a process that finds it locked stops. A crash loses the batch that is not committed, and the next tick
continues.
"""

import logging
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from itertools import islice
from time import monotonic

from msgspec import Struct

from sluice.jobs.blobs import BlobStore, BlobsUnavailable
from sluice.jobs.observe.failpoints import Failpoint, reached
from sluice.jobs.runners.output_blobs import is_output
from sluice.jobs.text.units import counted
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.database.transitions import LONGEST_S
from sluice.ledger.retention import blob_deletions, job_removal, removal
from sluice.ledger.retention.job_removal import RemovedRows
from sluice.ledger.retention.removal import START, RemovalStep, Removed

_LOG = logging.getLogger("sluice.retention")

#: Number of jobs that one batch examines, and number of blobs that it deletes.
LIMIT = 1000
BLOBS = 100
#: Share of the time between two ticks after which a tick begins no further batch. A process without a backlog uses none
#: of it. With 0.4 a backlog grew on two busy cores, because each batch then takes several times as long.
TIME_SHARE = 0.8
#: Seconds after which a tick begins no further batch, however far apart ticks are: a process that stops waits for it.
TIME_S_MAX = 2.0
#: Seconds between two log lines: 10 minutes.
LINE_EVERY_S = 600.0
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
    """Retention of a process, on each tick. ``keep_s`` None keeps everything indefinitely, and ``keep_jobs_s`` None the
    jobs themselves. ``tick_s`` is the time between two ticks, and ``clock`` returns seconds."""

    def __init__(
        self,
        ledger: Ledger,
        blobs: BlobStore,
        keep_s: float | None,
        *,
        keep_jobs_s: float | None = None,
        tick_s: float = 1.0,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._ledger = ledger
        self._blobs = blobs
        self._keep_s = keep_s
        self._keep_jobs_s = keep_jobs_s
        self._time_s = min(tick_s * TIME_SHARE, TIME_S_MAX)
        self._clock = clock
        self._unlogged = Removed()
        self._logged_at = float("-inf")

    def tick(self) -> None:
        """Remove batches until nothing is left or the time of this tick is used up. Only one process at a time searches
        for old history. If there is none, this costs two look-ups by key."""
        if (keep_s := self._keep_s) is None:
            return
        began = self._clock()
        until = began + self._time_s
        removed, has_more, is_answering = Removed(), True, True
        while has_more:
            step = self._ledger.transact(partial(_sweep, keep_s=keep_s))
            if step.removed != Removed():
                reached(Failpoint.SWEEP_COMMITTED)
            gone, has_old_jobs = self._remove_jobs()
            removed += step.removed + gone
            blobs = self._delete_blobs() if is_answering else None
            is_answering = blobs is not None
            is_behind = step.place is not None or has_old_jobs or blobs == BLOBS
            has_more = is_behind and self._clock() < until
        self._log(removed, began)

    def _log(self, removed: Removed, now: float) -> None:
        """Log what was removed since the last line, at most once in ``LINE_EVERY_S``.

        In an installation where jobs end all the time, each tick removes some.
        """
        self._unlogged += removed
        if self._unlogged == Removed() or now - self._logged_at < LINE_EVERY_S:
            return
        _LOG.info(
            "removed, because it was old enough: the history of %s, %s, %s, %s",
            counted(self._unlogged.jobs, "job"),
            counted(self._unlogged.removed_jobs, "job"),
            counted(self._unlogged.submissions, "submission"),
            counted(self._unlogged.workers, "worker"),
        )
        self._unlogged, self._logged_at = Removed(), now

    def _remove_jobs(self) -> tuple[Removed, bool]:
        """Remove a batch of jobs that ended long ago. Return also whether more may be left."""
        if (keep_s := self._keep_jobs_s) is None:
            return Removed(), False
        return self._ledger.transact(lambda tx: job_removal.sweep(tx, keep_s=keep_s, limit=LIMIT))

    def _delete_blobs(self) -> int | None:
        """Delete a batch of blobs of removed rounds, and return their number; None if the store does not answer."""
        try:
            return delete_blobs(self._ledger, self._blobs)
        except BlobsUnavailable as error:
            _LOG.warning("blobs of removed rounds will be deleted later: %s", error.what)
            return None


def _sweep(tx: Tx, *, keep_s: float) -> RemovalStep:
    step = removal.sweep(tx, keep_s=keep_s, limit=LIMIT)
    if step.removed != Removed():
        reached(Failpoint.SWEEP_WRITTEN)
    return step


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


def prune(
    ledger: Ledger,
    blobs: BlobStore,
    *,
    keep_s: float,
    keep_jobs_s: float | None = None,
    orphans: bool = False,
) -> SweepResult:
    """Remove all history that is old enough, and its blobs. With ``keep_jobs_s``, also remove jobs and submissions that
    are old enough; with ``orphans``, blobs that no round of this ledger has.

    BlobsUnavailable if the store does not answer. History that was removed by then stays removed, and the next call
    deletes its blobs.
    """
    removed = _all(ledger, removal.prune, keep_s)
    while (
        others := ledger.transact(lambda tx: removal.prune_others(tx, keep_s=keep_s, limit=LIMIT))
    ) != Removed():
        removed += others
    if keep_jobs_s is not None:
        jobs = _all_rows(ledger, job_removal.remove_jobs, keep_jobs_s)
        submissions = _all_rows(ledger, job_removal.remove_submissions, keep_jobs_s)
        removed += Removed(removed_jobs=jobs, submissions=submissions)
    thrown = 0
    while count := delete_blobs(ledger, blobs):
        thrown += count
    found = [*_orphans(ledger, blobs, keep_s)] if orphans else []
    for blob in found:
        blobs.remove(blob)
    return SweepResult(removed=removed, blobs=thrown, orphans=len(found))


def preview(
    ledger: Ledger,
    blobs: BlobStore,
    *,
    keep_s: float,
    keep_jobs_s: float | None = None,
    orphans: bool = False,
) -> SweepResult:
    """Return the result that ``prune`` would have. It changes nothing. Jobs with a history to remove first, and
    submissions, are not counted as removed."""
    removed = _all(ledger, removal.preview, keep_s)
    if keep_jobs_s is not None:
        removed += Removed(removed_jobs=_all_rows(ledger, job_removal.preview_jobs, keep_jobs_s))
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


def _all_rows(ledger: Ledger, step: Callable[..., RemovedRows], keep_s: float) -> int:
    """Repeat a step until no row is left, each in a transaction of its own. Return the number of rows."""
    count, place = 0, 0
    while True:
        rows, next_place = ledger.transact(partial(step, keep_s=keep_s, after=place, limit=LIMIT))
        count += rows
        if next_place is None:
            return count
        place = next_place


def _orphans(ledger: Ledger, blobs: BlobStore, keep_s: float) -> Iterator[str]:
    now = ledger.transact(lambda tx: tx.current_time())
    before = now - timedelta(seconds=min(max(keep_s, ORPHANED_S), LONGEST_S))
    old = (each.name for each in blobs.stored() if each.at < before and is_output(each.name))
    while names := list(islice(old, LIMIT)):
        yield from ledger.transact(lambda tx, names=names: blob_deletions.unknown(tx, names))  # type: ignore[misc] # ``names`` is bound when the lambda is made
