"""Circuit breakers: reaction to failed rounds, directly after the failure, and on each tick if that was missed.

Nothing here runs in the transaction that ends a round. That transaction inserts a row for the breaker
(``ledger.limits.breakers``) and waits for nothing. A transaction that evaluates a breaker locks the breaker's row
first, and no job before it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from sluice.actors.dispatch import announce, announce_again
from sluice.broker.messages import Message
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.policy.breaker import Breaker
from sluice.jobs.states import By
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.limits import breakers
from sluice.ledger.limits.breakers import Evaluated

#: Number of transactions that announce the ready jobs of a resumed app. The groomer announces the rest.
BATCHES_MAX = 100


class BreakerResult(NamedTuple):
    """Result of evaluating a breaker. ``is_open``: the app's jobs must not be started now. ``messages`` announce jobs
    that may start."""

    is_open: bool
    messages: Sequence[Message]


def has_failed(outcome: Outcome) -> bool:
    """Return whether a breaker counts this outcome as a failure."""
    return outcome.ending in (Ending.ERROR, Ending.UNDO_FAILED, Ending.TIMED_OUT)


def evaluate(ledger: Ledger, app: str, by: By = By.EXECUTOR) -> BreakerResult:
    """Evaluate the breaker of an app, after failed rounds of it were recorded."""
    return _follow(ledger, app, *ledger.transact(partial(_look, app=app, look=breakers.evaluate, by=by)))


def tick(ledger: Ledger, catalogue: Catalogue) -> list[Message]:
    """Update the breakers in the ledger to their definitions. Evaluate the breakers that are due.

    A breaker of an app that these definitions do not have is left as it is, because another process may have the app.
    """
    messages: list[Message] = []
    for app, stated in ledger.transact(breakers.terms).items():
        if (defined := catalogue.get(app)) and defined.breaker != stated:
            messages += _restate(ledger, app, defined.breaker)
    for app in ledger.transact(breakers.due):
        messages += evaluate(ledger, app, By.GROOMER).messages
    return messages


def _restate(ledger: Ledger, app: str, breaker: Breaker | None) -> Sequence[Message]:
    if breaker is not None:
        ledger.transact(lambda tx: breakers.update(tx, app, breaker))
        return []
    return _follow(ledger, app, *ledger.transact(partial(_look, app=app, look=breakers.drop))).messages


def _look(
    tx: Tx, *, app: str, look: Callable[[Tx, str], Evaluated], by: By = By.GROOMER
) -> tuple[Evaluated, Sequence[Message]]:
    minded = look(tx, app)
    return minded, announce(tx, minded.trial, by)


def _follow(ledger: Ledger, app: str, minded: Evaluated, messages: Sequence[Message]) -> BreakerResult:
    """Return the messages and, after the breaker has closed, notifications of the jobs that it held back. The groomer
    announces jobs beyond the limit."""
    sent = [*messages]
    if minded.closed:
        before = ledger.transact(lambda tx: tx.current_time())
        for _ in range(BATCHES_MAX):
            batch = ledger.transact(partial(announce_again, app=app, before=before, by=By.GROOMER))
            if not batch:
                break
            sent += batch
    return BreakerResult(minded.is_open, sent)
