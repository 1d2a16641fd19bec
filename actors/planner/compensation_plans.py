"""Planning of compensations: submissions that undo a saga across apps that has failed or was cancelled.

Each is planned in its own transaction. Planning waits until no job is in progress that only the saga requests, because
a job that succeeds in the end must be undone too. Sagas that share succeeded jobs are undone by one plan, each by its
own submission.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from sluice.actors.dispatch import announce
from sluice.broker.messages import Message
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.submission import COMPENSATION, Submission
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.lifecycle import plans, submissions
from sluice.ledger.lifecycle.submissions import ReceivedSubmission
from sluice.ledger.sagas import compensations
from sluice.planner.compensation import lay_out, plan_of

#: Maximum number of seconds to wait for a job of the saga before planning is tried again.
PATIENCE_S = 60.0


def plan_compensation(
    ledger: Ledger, catalogue: Catalogue, received: ReceivedSubmission, submission: Submission
) -> Sequence[Message]:
    """Plan the compensation, refuse it, or leave it until it can be planned."""
    work = partial(_plan, catalogue=catalogue, id=received.id, submission=submission)
    return ledger.transact(work)


def _plan(tx: Tx, *, catalogue: Catalogue, id: str, submission: Submission) -> Sequence[Message]:
    of = submission.compensates or ""
    saga = compensations.failed(tx, of)
    fellows = {id: saga} if saga is None else {id: saga, **compensations.related_sagas(tx, saga)}
    held = {each.id: each.number for each in submissions.lock_unplanned(tx, [*fellows])}
    if id not in held:
        return []
    number = held[id]
    if saga is None or id != f"{of}{COMPENSATION}":
        submissions.refuse(
            tx, number, f"There is no failed saga {of}; a compensation cannot be requested by hand."
        )
        return []
    askers = {of_id: held[undo] for undo, of_id in fellows.items() if undo in held and of_id is not None}
    if live := compensations.first_unfinished(tx, askers):
        _wait(tx, number, live.id, f"{live.name} of {live.saga} has not ended")
        return []
    try:
        return _enter(tx, catalogue, number, askers)
    except BadRequest as error:
        submissions.refuse(tx, number, error.reason)
        return []


def _enter(tx: Tx, catalogue: Catalogue, number: int, askers: Mapping[int, int]) -> Sequence[Message]:
    """Plan the compensation of these sagas. ``askers`` maps each saga to the submission that undoes it."""
    effects = compensations.effects(tx, askers)
    laid_out = lay_out(catalogue, effects)
    earlier = compensations.existing(tx, set(laid_out.undoing.values()))
    for done, name in laid_out.undoing.items():
        known = earlier.get(name)
        claim = laid_out.effects[done].claim
        if known and known.is_live and known.undoes_claim not in (None, claim):
            _wait(tx, number, known.id, f"{name} undoes an earlier run of {laid_out.effects[done].name}")
            return []
    ties, behind = compensations.used_results(tx, askers), compensations.blocked_effects(tx, laid_out.undoing)
    plan = plan_of(catalogue, number, laid_out, ties, earlier, askers=askers, behind=behind)
    submissions.activate(tx, [*askers.values()])
    told = plans.plan(tx, plan)
    compensations.set_undone_jobs(tx, laid_out.undoing)
    for saga, asker in askers.items():
        if reason := lay_out(catalogue, [each for each in effects if saga in each.sagas]).reason:
            submissions.record_unchanged(tx, asker, reason)
    submissions.settle(tx, [*askers.values()])
    return announce(tx, told.ready)


def _wait(tx: Tx, number: int, job: int, reason: str) -> None:
    submissions.delay(tx, number, job=job, reason=reason, within_s=PATIENCE_S)
