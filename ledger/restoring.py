"""A ledger that was restored to an earlier moment goes on above all numbers that it has ever given out.

It knows nothing of what happened after that moment, and others do: the numbers of claims are with whoever was shown
them, those of jobs and submissions in messages that still lie in queues, those of tasks with whoever opened them. Given
out once more, a claim's number would let a worker of the time before in, and a hint for one job would be for another.

What holds: ``above`` is larger than all of them. It is the time in milliseconds, and each of them grows by steps, none
of which takes as little: a claim is two transactions at the least, and of a backup that is restored twice the second
time is later than the first. So it is right if the server's clock is not behind by as long as the ledger has lived.
New ids begin behind it; so do the claims of every job (``claims``), those that were there and those that are yet to be
planned, and the numbers of tasks (``opening``). What a job has had stays as it is, for others compare it.

Who races whom: nobody may work meanwhile. A lease that stands is refused, whether it is that of somebody who works or
was backed up a moment ago; it ends by itself. Whoever comes later waits for the lock, and finds the new numbers. So
nothing has to be taken from anybody: the groomer finds the leases that have ended, and counts each as lost, for what
ran under it may have come to its end. A restoration is done again without harm; its number is larger each time.

What a crash leaves: a ledger that was not restored, or was.
"""

from sluice.ledger import tallies
from sluice.ledger.above import ABOVE
from sluice.ledger.connection import Tx
from sluice.ledger.sql import NOW

# The counting looks at nobody's number after this, so there must be nobody whose row it could miss.
_LOCK = "LOCK TABLE worker, submission, job, transition IN SHARE MODE"
_STANDING = f"SELECT count(*) FROM worker WHERE left_at IS NULL AND lease_until > {NOW}"
_ABOVE = f"""
INSERT INTO restoration (above, at)
SELECT greatest((extract(epoch FROM {NOW}) * 1000)::bigint, {ABOVE} + 1, (SELECT max(claim) FROM job),
                (SELECT max(last) FROM counter), (SELECT max(last_value) FROM pg_sequences
                                                  WHERE schemaname = current_schema())), {NOW}
RETURNING above
"""
_SKIP = """
SELECT setval(quote_ident(sequencename)::regclass, %(above)s) FROM pg_sequences WHERE schemaname = current_schema()
"""


def leases(tx: Tx) -> int:
    """How many workers hold one that has not ended."""
    return int(tx.column(_STANDING)[0])


def restore(tx: Tx) -> int | None:
    """No number up to the one that is returned is given out again. None where a lease stands; nothing is done then."""
    tx.write(_LOCK)
    if leases(tx):
        return None
    above: int = tx.column(_ABOVE)[0]
    tx.rows(_SKIP, above=above)
    tallies.go_on_from(tx, above)
    return above
