"""Planning what undoes a saga across apps that has failed or was cancelled: each in a transaction of its own.

It waits until nothing goes on that only the saga wants, for what succeeds in the end is to be undone too.
"""

from collections.abc import Sequence
from functools import partial

from actors.announce import announce
from broker.messages import Message
from jobs.catalogue import Catalogue
from jobs.errors import BadRequest
from jobs.submission import COMPENSATION, Submission
from ledger import compensating, planning, submissions
from ledger.connection import Ledger, Tx
from ledger.submissions import Received
from planner.compensation import Compensation, lay_out, plan_of

#: So long it waits at the most for a job of the saga's before it looks again.
PATIENCE_S = 60.0


def plan_compensation(
    ledger: Ledger, catalogue: Catalogue, received: Received, submission: Submission
) -> Sequence[Message]:
    """Plan it, or refuse it, or leave it until it can be planned."""
    work = partial(_plan, catalogue=catalogue, id=received.id, submission=submission)
    return ledger.transact(work)


def _plan(tx: Tx, *, catalogue: Catalogue, id: str, submission: Submission) -> Sequence[Message]:
    held = submissions.hold_received(tx, [id], anyway=True)
    if not held:
        return []
    number, of = held[0].number, submission.compensates
    saga = compensating.failed(tx, of or "")
    if saga is None or id != f"{of}{COMPENSATION}":
        submissions.refuse(
            tx, number, f"There is no saga {of} that has failed; nobody asks for this by hand."
        )
        return []
    if live := compensating.under_way(tx, saga):
        _wait(tx, number, live.id, f"{live.name} of {of} has not ended")
        return []
    try:
        laid_out = lay_out(catalogue, compensating.effects(tx, saga))
        return _enter(tx, catalogue, number, saga, laid_out)
    except BadRequest as error:
        submissions.refuse(tx, number, f"{error.what} {error.advice}".strip())
        return []


def _enter(tx: Tx, catalogue: Catalogue, number: int, saga: int, laid_out: Compensation) -> Sequence[Message]:
    earlier = compensating.earlier(tx, set(laid_out.undoing.values()))
    for done, name in laid_out.undoing.items():
        known = earlier.get(name)
        claim = laid_out.effects[done].claim
        if known and known.is_live and known.undoes_claim not in (None, claim):
            _wait(tx, number, known.id, f"{name} undoes an earlier run of {laid_out.effects[done].name}")
            return []
    submissions.activate(tx, [number])
    plan = plan_of(catalogue, number, laid_out, compensating.ties(tx, saga), earlier)
    told = planning.plan(tx, plan)
    compensating.mark(tx, laid_out.undoing)
    if laid_out.reason:
        compensating.note(tx, number, laid_out.reason)
    submissions.settle(tx, [number])
    return announce(tx, told.ready)


def _wait(tx: Tx, number: int, job: int, reason: str) -> None:
    submissions.wait(tx, number, job=job, reason=reason, within_s=PATIENCE_S)
