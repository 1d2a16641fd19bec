"""Planning of submissions about work IDs, each by itself and in its own transaction.

An app may have to select the work IDs by a function that queries other systems. That happens first, outside of any
transaction. Then planners take turns by app, so that each of them sees all work in progress. If that includes work that
the submission would run itself, the submission waits for it to end and is planned again.
"""

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from sluice.actors.dispatch import announce
from sluice.actors.planner.bubble_up import follow_turns
from sluice.actors.planner.notify_rules import rules_of, store_rules
from sluice.actors.planner.walks import with_inputs
from sluice.broker.messages import Message
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.work_id_selection import Selected, select
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.freshness import UnfinishedWork
from sluice.jobs.model.submission import Submission
from sluice.jobs.observe.failpoints import TransactionKind
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.keyspaces import freshness
from sluice.ledger.lifecycle import plans, submissions
from sluice.ledger.lifecycle.submissions import ReceivedSubmission
from sluice.planner.keyspaces.chunks.chunk_graph import nodes_of
from sluice.planner.keyspaces.chunks.chunk_keys import require_chunk_words
from sluice.planner.keyspaces.chunks.chunk_plan import chunk

#: Seconds that users' code may take to select work IDs. After that, another planner assumes that this one has died and
#: selects again.
SELECT_S = 60.0
#: Seconds until a submission that waits for a job is planned again. The job's end triggers that earlier; this delay
#: covers a missed trigger.
LOOK_AGAIN_S = 30.0
#: Seconds until a submission that waits for another submission is planned again. The other one is about to be planned,
#: and then has jobs to wait for.
LOOK_SOON_S = 1.0


def selects_work_ids(submission: Submission) -> bool:
    """Return whether a function of the app selects the work IDs."""
    return submission.work_ids is None and submission.kwargs.get("work_ids") is None


def plan_by_chunk(
    ledger: Ledger, catalogue: Catalogue, received: ReceivedSubmission, submission: Submission
) -> Sequence[Message]:
    """Plan the submission, refuse it, cancel it if its app finds nothing to do, or leave it waiting."""
    app = catalogue.app(submission.app)
    try:
        require_chunk_words(app, submission)
        selected = select(app, submission)
    except BadRequest as error:
        reason = error.reason
        ledger.transact(lambda tx: submissions.refuse(tx, received.number, reason))
        return []
    if not selected.work_ids:
        reason = f"There are no work IDs: {app.name} has nothing to do."
        ledger.transact(lambda tx: submissions.cancel_unplanned(tx, received.number, reason))
        return []
    work = partial(_plan, catalogue=catalogue, id=received.id, submission=submission, selected=selected)
    return ledger.transact(work, TransactionKind.CHUNKS)


def _plan(
    tx: Tx, *, catalogue: Catalogue, id: str, submission: Submission, selected: Selected
) -> Sequence[Message]:
    held = submissions.lock_one_unplanned(tx, id)
    if held is None:
        return []
    number = held.number
    try:
        rules_of(catalogue, submission)
        submission = replace(submission, kwargs=selected.kwargs)
        nodes = nodes_of(catalogue, submission)
        freshness.lock_apps(tx, {node.app.name for node in nodes})
        past = freshness.FreshnessFacts(tx, tx.current_time(), number)
        chunked = chunk(catalogue, submission, selected.work_ids, past, number=number)
        plan = with_inputs(tx, catalogue, submission, chunked, number)
    except BadRequest as error:
        submissions.refuse(tx, number, error.reason)
        return []
    if chunked.waits_for:
        wait_for(tx, number, chunked.waits_for)
        return []
    submissions.activate(tx, [number])
    store_rules(tx, catalogue, [(number, submission)])
    told = plans.plan(tx, plan)
    submissions.settle(tx, [number])
    return announce(tx, follow_turns(tx, catalogue, told))


def wait_for(tx: Tx, number: int, waits_for: Sequence[UnfinishedWork]) -> None:
    """Wait for the job that was planned last. By its end few of the others are left, and each attempt costs a plan."""
    last = max(waits_for, key=lambda busy: busy.job or 0)
    more = f", and {len(waits_for) - 1} more" if len(waits_for) > 1 else ""
    state = f", which is {last.state}" if last.state else ", which is not planned yet"
    submissions.delay(
        tx,
        number,
        job=last.job,
        reason=f"waits for {last.what}{state}{more}",
        within_s=LOOK_AGAIN_S if last.job else LOOK_SOON_S,
    )
