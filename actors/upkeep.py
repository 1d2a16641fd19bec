"""What an operator may set off by hand."""

from collections.abc import Callable, Sequence

from actors.announce import announce
from broker.messages import Executed, Message
from ledger import grooming
from ledger.connection import Ledger, Tx

BATCH = 5000


def announce_everything(ledger: Ledger, publish: Callable[[Sequence[Message]], None]) -> int:
    """Announce every ready and every executed job once more, however lately it was; how many there were."""
    began = ledger.transact(lambda tx: tx.instant())

    def ready(tx: Tx) -> tuple[int, Sequence[Message]]:
        jobs = grooming.announce_ready(tx, BATCH, before=began)
        return len(jobs), announce(tx, jobs)

    def executed(tx: Tx) -> tuple[int, Sequence[Message]]:
        jobs = grooming.announce_executed(tx, BATCH, before=began)
        return len(jobs), [Executed(jobs=tuple(jobs))] if jobs else []

    total = 0
    for batch in (ready, executed):
        while True:
            count, messages = ledger.transact(batch)
            publish(messages)
            total += count
            if count < BATCH:
                break
    return total
