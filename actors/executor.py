"""The executor's two transactions. What lies between them, running the jobs, is the worker's (see actors.running).

A third takes the place of the second where the work goes on until it is stopped: the claim stands, without a worker.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from actors.announce import announce
from broker.messages import Ended, Execute, Executed, Message
from jobs.catalogue import Catalogue
from jobs.outcome import Outcome
from jobs.ref import Claim
from jobs.states import By
from jobs.submission import JSON
from ledger import claims, counts, watching
from ledger.claims import Claimed
from ledger.connection import Ledger, Tx


def claim(
    ledger: Ledger, catalogue: Catalogue, message: Execute, worker: UUID, *, at_once: int = 1
) -> tuple[list[Claimed], Sequence[Message]]:
    """The jobs that are this worker's to run for a hint, the most urgent first, and what waited for them to run. It
    takes on so many ``at_once``, or as many as the hint names.

    The message has done its work once this returns.
    """
    turns = [(turn.job, turn.round) for turn in message.jobs]
    app = catalogue.get(message.app)
    digest, unbounded, saga = (app.digest, app.unbounded, app.saga is not None) if app else ("", False, False)

    def work(tx: Tx) -> tuple[list[Claimed], Sequence[Message]]:
        taken = claims.claim(
            tx, message.app, turns, worker, digest, at_once=at_once, unbounded=unbounded, saga=saga
        )
        return taken.jobs, announce(tx, counts.tell(tx, taken.awaited).ready, By.EXECUTOR)

    return ledger.transact(work)


def leave(
    ledger: Ledger, right: Claim, handle: JSON, *, every_s: float, said: str
) -> Sequence[Message] | None:
    """Store what the claim has started and leave it to be looked at: what waited for that. None: the claim is lost."""

    def work(tx: Tx) -> Sequence[Message] | None:
        if not watching.leave(tx, right, handle, watch_s=every_s, said=said):
            return None
        return announce(tx, counts.tell(tx, watching.awaited(tx, right)).ready, By.EXECUTOR)

    return ledger.transact(work)


def record(ledger: Ledger, outcomes: Mapping[Claim, Outcome]) -> tuple[Sequence[Message], list[Claim]]:
    """Write the outcomes down: who must hear of it, and the claims that were no longer ours to end."""

    def work(tx: Tx) -> tuple[Sequence[Message], list[Claim]]:
        recorded = claims.record(tx, outcomes)
        return _news(tx, recorded), recorded.refused

    return ledger.transact(work)


def _news(tx: Tx, recorded: claims.Recorded) -> Sequence[Message]:
    messages: list[Message] = [*announce(tx, recorded.ready, By.EXECUTOR)]
    if recorded.executed:
        messages.append(Executed(jobs=tuple(recorded.executed)))
    if recorded.ended:
        messages.append(Ended(jobs=tuple(recorded.ended)))
    return messages
