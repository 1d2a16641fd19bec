"""Restoration of a ledger from a backup: it continues above all numbers that it has ever issued.

A ledger that was restored to an earlier moment has lost everything after that moment, but numbers issued then still
exist outside it. Claim numbers are held by workers and other systems, numbers of jobs and submissions are in queued
messages, and task numbers are with clients. If a claim's number were issued twice, a worker from before the restoration
could record an outcome. A notification for one job would apply to another.

Invariant: the number ``id_floor`` is larger than all of these numbers. It is the current time in milliseconds. Claim
numbers grow in steps that take longer than a millisecond: a claim takes at least two transactions. Numbers of jobs grow
faster while a large submission is planned (100,000 keys took 59 s), but not on average over the life of a ledger. If a
backup is restored twice, the second value is later than the first. So ``id_floor`` is right unless the server's clock
is behind by as long as the ledger has existed. New ids start above it. So do the claims of all existing and future jobs
(``ledger.lifecycle.claims``), and the numbers of tasks (``ledger.managed_tasks``). The statements that give these out
use ``ID_FLOOR``. Existing claims stay as they are, because other rows are compared with them.

Races: no process may work during a restoration. It is refused while any lease is valid, of a live worker or of a worker
in the backup. Leases end by themselves. A transaction that comes later waits for the lock and uses the new numbers. So
no job has to be taken from a worker. The groomer finds the expired leases and counts each as lost, because the run
under it may have finished. A restoration may be repeated without harm; its number is larger each time.

A crash leaves a ledger that was either restored or not.
"""

from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import NOW
from sluice.ledger.lifecycle.claims import ID_FLOOR
from sluice.ledger.stats import state_counts

# From then on counting does not check transaction numbers, so no transaction may be open that has rows still to commit.
_LOCK = "LOCK TABLE worker, submission, job, history IN SHARE MODE"
_STANDING = f"SELECT count(*) FROM worker WHERE left_at IS NULL AND lease_until > {NOW}"
_INSERT = f"""
INSERT INTO restoration (id_floor, at)
SELECT greatest((extract(epoch FROM {NOW}) * 1000)::bigint, {ID_FLOOR} + 1, (SELECT max(claim) FROM job),
                (SELECT max(last) FROM task_sequence), (SELECT max(last_value) FROM pg_sequences
                                                  WHERE schemaname = current_schema())), {NOW}
RETURNING id_floor
"""
_SKIP = """
SELECT setval(quote_ident(sequencename)::regclass, %(id_floor)s) FROM pg_sequences WHERE schemaname = current_schema()
"""


def leases(tx: Tx) -> int:
    """Return the number of workers with a valid lease."""
    return int(tx.column(_STANDING)[0])


def restore(tx: Tx) -> int | None:
    """Continue all numbers above the returned one. Return None and change nothing if a lease is valid."""
    tx.write(_LOCK)
    if leases(tx):
        return None
    id_floor: int = tx.column(_INSERT)[0]
    tx.rows(_SKIP, id_floor=id_floor)
    state_counts.go_on_from(tx, id_floor)
    return id_floor
