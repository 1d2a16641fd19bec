"""Breakers: what follows from rounds that fail, at once where they fail, and on each tick where that came to nothing.

Nothing here runs in the transaction that ends a round. That one tells the breaker (``ledger.breaker_news``) and waits
for nobody; whoever looks after the breaker holds its row, and no job before it.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

from sluice.actors.announce import announce
from sluice.broker.messages import Message
from sluice.jobs.breaker import Breaker
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.outcome import Ending, Outcome
from sluice.jobs.states import By
from sluice.ledger import breakers, grooming
from sluice.ledger.breakers import Minded
from sluice.ledger.connection import Ledger, Tx

#: Of an app that goes on so many ready jobs are announced in one transaction, and in one go. There may be more: the
#: groomer repeats their hints.
BATCH = 1000
BATCHES_MAX = 100


class Broken(NamedTuple):
    """Whether the app's jobs are not to be begun now, and messages for those that are."""

    is_open: bool
    messages: Sequence[Message]


def has_failed(outcome: Outcome) -> bool:
    """Whether a breaker may open by it."""
    return outcome.ending in (Ending.ERROR, Ending.DISMAL, Ending.TIMED_OUT)


def mind(ledger: Ledger, app: str, by: By = By.EXECUTOR) -> Broken:
    """Look after the breaker of this app, which rounds have been written for that have failed."""
    return _follow(ledger, app, *ledger.transact(partial(_look, app=app, look=breakers.mind, by=by)))


def tick(ledger: Ledger, catalogue: Catalogue) -> list[Message]:
    """Have the breakers that the ledger knows do what the definitions say by now, and what they have to.

    One of an app that these definitions do not have is left as it is: another process's may.
    """
    messages: list[Message] = []
    for app, stated in ledger.transact(breakers.known).items():
        if (defined := catalogue.get(app)) and defined.breaker != stated:
            messages += _restate(ledger, app, defined.breaker)
    for app in ledger.transact(breakers.due):
        messages += mind(ledger, app, By.GROOMER).messages
    return messages


def _restate(ledger: Ledger, app: str, breaker: Breaker | None) -> Sequence[Message]:
    if breaker is not None:
        ledger.transact(lambda tx: breakers.restate(tx, app, breaker))
        return []
    return _follow(ledger, app, *ledger.transact(partial(_look, app=app, look=breakers.drop))).messages


def _look(
    tx: Tx, *, app: str, look: Callable[[Tx, str], Minded], by: By = By.GROOMER
) -> tuple[Minded, Sequence[Message]]:
    minded = look(tx, app)
    return minded, announce(tx, minded.trial, by)


def _follow(ledger: Ledger, app: str, minded: Minded, messages: Sequence[Message]) -> Broken:
    """What was held back is announced once it may begin. Where that is cut off the groomer goes on."""
    sent = [*messages]
    if minded.closed:
        before = ledger.transact(lambda tx: tx.instant())
        for _ in range(BATCHES_MAX):
            batch = ledger.transact(partial(_announced, app=app, before=before))
            if not batch:
                break
            sent += batch
    return Broken(minded.is_open, sent)


def _announced(tx: Tx, *, app: str, before: datetime) -> Sequence[Message]:
    return announce(tx, grooming.announce_ready(tx, BATCH, before=before, app=app), By.GROOMER)
