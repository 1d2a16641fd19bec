"""Advisory locks of submissions.

Transactions that act for a submission share its lock, and one that changes it takes it alone. These are advisory locks
and not row locks. A row lock that one short transaction after another shares would starve the one that waits for all of
them, each of these would write the row, and a settlement would skip it.
"""

from collections.abc import Collection
from typing import NamedTuple

from sluice.ledger.database.connection import Tx

#: Most of these locks that one transaction holds, however many submissions it concerns. Submissions whose numbers have
#: the same remainder have a common lock.
_LOCKS_MAX = 64

_SHARE = f"""
SELECT pg_advisory_xact_lock_shared(%(kind)s::int, slot) FROM (
    SELECT DISTINCT mod(number, {_LOCKS_MAX})::int AS slot FROM unnest(%(numbers)s::bigint[]) AS given (number)
    ORDER BY slot) slots
"""
_SHARE_FOR_JOBS = f"""
SELECT slot, pg_advisory_xact_lock_shared(%(kind)s::int, slot) FROM (
    SELECT DISTINCT mod(submission, {_LOCKS_MAX})::int AS slot FROM submission_job WHERE job = ANY(%(jobs)s)
    ORDER BY slot) slots
"""
_TAKE_ALONE = f"""
SELECT number, pg_advisory_xact_lock(%(kind)s::int, slot) FROM (
    SELECT number, mod(number, {_LOCKS_MAX})::int AS slot FROM submission WHERE id = ANY(%(ids)s)
    ORDER BY slot) slots
"""


class SharedSubmissionLocks(NamedTuple):
    """Locks that a transaction shares."""

    slots: frozenset[int]

    def contain(self, number: int) -> bool:
        """Return whether the lock of the submission of this number is among them."""
        return number % _LOCKS_MAX in self.slots


class SubmissionLocks(NamedTuple):
    """Locks of one kind. ``kind`` is the first of the two keys of each."""

    kind: int

    def share(self, tx: Tx, numbers: Collection[int]) -> None:
        tx.rows(_SHARE, kind=self.kind, numbers=sorted(numbers))

    def share_for_jobs(self, tx: Tx, jobs: list[int]) -> SharedSubmissionLocks:
        """Share the locks of the submissions that request these jobs. Others may request them afterwards."""
        return SharedSubmissionLocks(
            frozenset(slot for slot, _ in tx.rows(_SHARE_FOR_JOBS, kind=self.kind, jobs=jobs))
        )

    def take_alone(self, tx: Tx, *ids: str) -> list[int]:
        """Wait for the transactions that share the locks of these submissions, and lock out others. Return the numbers
        of the submissions that exist.

        A submission that appears after this statement counts as missing: no transaction acts for it yet.
        """
        return [number for number, _ in tx.rows(_TAKE_ALONE, kind=self.kind, ids=list(ids))]


#: A pause or resumption against transactions that create or revive jobs of the submission.
PAUSES = SubmissionLocks(5_318_009)
#: A cancellation against transactions that plan children of the submission's jobs.
CANCELLATIONS = SubmissionLocks(5_318_010)
