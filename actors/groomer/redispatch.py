"""Maintenance that an operator may start by hand. A process with a broker that begins empty also does it by itself."""

from collections.abc import Callable, Sequence

from sluice.actors.dispatch import announce
from sluice.broker.messages import Executed, Message, Plan
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.recovery import groomer_steps

BATCH = 5000


def announce_everything(ledger: Ledger, publish: Callable[[Sequence[Message]], None]) -> int:
    """Announce every ready and every executed job once more, however recently that was done, and have received
    submissions planned.

    Return the number of jobs. One batch of submissions is announced; if there are more, the groomer handles the rest.
    """
    began = ledger.transact(lambda tx: tx.current_time())

    def ready(tx: Tx) -> tuple[int, Sequence[Message]]:
        jobs = groomer_steps.announce_ready(tx, BATCH, before=began)
        return len(jobs), announce(tx, jobs)

    def executed(tx: Tx) -> tuple[int, Sequence[Message]]:
        jobs = groomer_steps.announce_executed(tx, BATCH, before=began)
        return len(jobs), [Executed(jobs=tuple(jobs))] if jobs else []

    received = ledger.transact(lambda tx: groomer_steps.overdue_submissions(tx, BATCH, before=began))
    publish([Plan(submissions=tuple(received))] if received else [])
    total = 0
    for batch in (ready, executed):
        while True:
            count, messages = ledger.transact(batch)
            publish(messages)
            total += count
            if count < BATCH:
                break
    return total
