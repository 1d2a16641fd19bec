"""Transactions of users in which a run has recorded its success (see ``jobs.own_success``).

A function may return while its transaction is still open. The job is locked until the transaction ends, so every later
write of its outcome would wait for it.
"""

from sluice.ledger.database.connection import Tx

_IS_LOCKED = """
SELECT EXISTS (SELECT 1 FROM job WHERE id = %(job)s)
   AND NOT EXISTS (SELECT 1 FROM job WHERE id = %(job)s FOR NO KEY UPDATE SKIP LOCKED)
"""
_END = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE backend_xid = %(id)s::text::xid AND datname = current_database()
"""


def is_locked(tx: Tx, job: int) -> bool:
    """Return whether another transaction that is still open has changed this job."""
    return bool(tx.column(_IS_LOCKED, job=job)[0])


def end(tx: Tx, transaction: int) -> bool:
    """Close the connection with this transaction, which is then rolled back. Return False if the role may not see it.

    BadSetting if the role may not close it.
    """
    return any(tx.column(_END, id=str(transaction % 2**32)))
