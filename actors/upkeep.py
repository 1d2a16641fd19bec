"""What an operator may set off by hand, and a process whose broker begins empty does by itself."""

from collections.abc import Callable, Sequence

from sluice.actors.announce import announce
from sluice.broker.messages import Executed, Message, Plan
from sluice.ledger import grooming
from sluice.ledger.connection import Ledger, Tx

BATCH = 5000


def announce_everything(ledger: Ledger, publish: Callable[[Sequence[Message]], None]) -> int:
    """Announce every ready and every executed job once more, however lately it was, and have planned what is received.

    How many jobs there were. Of very many submissions the groomer sees to those that this leaves out.
    """
    began = ledger.transact(lambda tx: tx.instant())

    def ready(tx: Tx) -> tuple[int, Sequence[Message]]:
        jobs = grooming.announce_ready(tx, BATCH, before=began)
        return len(jobs), announce(tx, jobs)

    def executed(tx: Tx) -> tuple[int, Sequence[Message]]:
        jobs = grooming.announce_executed(tx, BATCH, before=began)
        return len(jobs), [Executed(jobs=tuple(jobs))] if jobs else []

    received = ledger.transact(lambda tx: grooming.unplanned(tx, BATCH, before=began))
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
