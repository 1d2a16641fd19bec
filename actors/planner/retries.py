"""Retries of submissions and of selected jobs.

Retry of a submission: it is opened again, and its jobs that have not succeeded run again. The submission keeps its jobs
and requests no others, except jobs that were added since (``job.expand``) and that these need. Opening it is one
guarded write. So of two retries one is refused, and a cancellation comes before or after it. Jobs of other submissions
that ended because of these stay ended; a retry of those submissions revives them.

Retry of selected jobs (``rerun: alone``): a new submission names them. Those that have not succeeded run again, and so
do the jobs that could not run because of them. The failed submissions that requested any of these are active again, and
end when their jobs have ended. Like a retried one, each also requests the jobs that were added since. The new
submission requests the jobs as pushed ones, so it requests no parents. If the submissions that requested them before
have ended otherwise, it is the one that can cancel them.

Invariant of both: the jobs that run again are read when the submission is planned, and checked again once their rows
are held. So a job that has succeeded or runs again already stays as it is, and a second retry changes nothing.

A crash leaves a submission in state ``received``, and the groomer has it planned.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from sluice.actors.dispatch import announce
from sluice.actors.planner.bubble_up import follow_turns
from sluice.broker.messages import Message
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import JobPlan, RequestReason
from sluice.jobs.model.submission import COMPENSATION, Submission, SubmissionState
from sluice.jobs.states import UNSUCCESSFUL
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.job_graph import demand, expansions, known_jobs, reruns
from sluice.ledger.job_graph.dependencies import Propagated
from sluice.ledger.job_graph.readiness import ReadyJob
from sluice.ledger.lifecycle import plans, submissions
from sluice.ledger.lifecycle.submissions import ReceivedSubmission
from sluice.ledger.limits import pauses
from sluice.ledger.reads import submission_progress
from sluice.planner.rerun_plan import plan_again

#: Maximum number of jobs that the submission's reason names, if they cannot run again.
NAMED_MAX = 5
#: Reason why a named job stays as it is although it has not succeeded.
LEFT_OUT = "it makes partitions or undoes another job, so only its submission can be retried"


def retry(ledger: Ledger, id: str) -> None:
    """Open a submission again. BadRequest, with the reason, if it does not exist or cannot be retried."""
    ledger.transact(partial(_retry, id=id))


def plan_retry(
    ledger: Ledger, catalogue: Catalogue, received: ReceivedSubmission, _submission: Submission
) -> Sequence[Message]:
    """Run the unsuccessful jobs of an opened submission again, in a transaction of its own."""
    return ledger.transact(partial(_plan, catalogue=catalogue, id=received.id))


def plan_selected(
    ledger: Ledger, catalogue: Catalogue, received: ReceivedSubmission, submission: Submission
) -> Sequence[Message]:
    """Run the named jobs that have not succeeded again, in a transaction of its own."""
    names = [JobName(submission.app, key) for key in submission.named_keys or ()]
    return ledger.transact(partial(_plan_selected, catalogue=catalogue, id=received.id, names=names))


def _retry(tx: Tx, *, id: str) -> bool:
    """Return whether this call has opened it. A submission that waits to be planned has been opened already."""
    if submissions.retry(tx, id):
        return True
    found = submission_progress.status(tx, id)
    if found is None or found.state is not SubmissionState.RECEIVED:
        raise _refusal(id, found)
    return False


def _plan(tx: Tx, *, catalogue: Catalogue, id: str) -> Sequence[Message]:
    held = submissions.lock_one_unplanned(tx, id)
    if held is None:
        return []
    number = held.number
    submissions.activate(tx, [number])
    ready = run_again(tx, catalogue, number)
    submissions.settle(tx, [number])
    return announce(tx, ready)


def _plan_selected(tx: Tx, *, catalogue: Catalogue, id: str, names: Sequence[JobName]) -> Sequence[Message]:
    held = submissions.lock_one_unplanned(tx, id)
    if held is None:
        return []
    known = known_jobs.find(tx, names)
    jobs = reruns.with_upstream_failed(tx, [job.id for job in known.values()])
    left_out = {
        name: LEFT_OUT for name, job in known.items() if job.state in UNSUCCESSFUL and name not in jobs
    }
    reopened = submissions.reopen(tx, [*jobs.values()])
    submissions.activate(tx, [held.number])
    demand.request(tx, [(held.number, job, RequestReason.PUSHED) for job in jobs.values()])
    ready = _plan_again(tx, catalogue, held.number, [*jobs], left_out)
    reruns.keep(tx, jobs.values())
    # Only other submissions requested these jobs meanwhile, so they may be paused, or need jobs that were added since.
    if live := demand.live(tx, reopened):
        ready += pauses.apply(tx, live)
        ready += _request_added(tx, catalogue, live)
    submissions.settle(tx, [*reopened, held.number])
    return announce(tx, ready)


def run_again(
    tx: Tx,
    catalogue: Catalogue,
    number: int,
    *,
    among: Callable[[JobName], bool] | None = None,
    complete: Callable[[JobPlan], JobPlan] = lambda plan: plan,
) -> list[ReadyJob]:
    """Run the unsuccessful jobs that ``among`` accepts again, and return the jobs that may start.
    ``complete`` adds the needs that the definitions do not determine.

    A live job may be cancelled for another submission while this one is not active yet. So the live jobs are held, and
    the unsuccessful ones read once more: either the cancellation waits, and finds this submission active, or its effect
    is seen here, and the job runs again too. Live jobs may also be paused for another submission, and go on.
    """
    ready: list[ReadyJob] = []
    tried: set[JobName] = set()
    names = [*filter(among, demand.unsuccessful(tx, number))]
    while True:
        tried.update(names)
        if names:
            ready += _plan_again(tx, catalogue, number, names, complete=complete)
        live = demand.live(tx, [number])
        ready += pauses.apply(tx, live)
        names = [*filter(among, demand.unsuccessful(tx, number))]
        if tried.issuperset(names):
            return ready + _request_added(tx, catalogue, live)


def _request_added(tx: Tx, catalogue: Catalogue, live: list[int]) -> list[ReadyJob]:
    """Request the added jobs that these locked jobs need for the active submissions that lack them. Return the jobs
    that may start."""
    lacking = expansions.lacking_requests(tx, live)
    return follow_turns(tx, catalogue, Propagated([], lacking, {}))


def _plan_again(
    tx: Tx,
    catalogue: Catalogue,
    number: int,
    names: Sequence[JobName],
    left_out: Mapping[JobName, str] = MappingProxyType({}),
    *,
    complete: Callable[[JobPlan], JobPlan] = lambda plan: plan,
) -> list[ReadyJob]:
    """Run these jobs again, and return the jobs that may start. The submission's reason names the jobs that cannot run,
    and the jobs that the caller has ``left_out``."""
    added = {name: job.added for name, job in known_jobs.find(tx, names).items()}
    again = plan_again(catalogue, number, names, added)
    plan = complete(again.plan)
    known = known_jobs.find(tx, [job.name for job in plan.jobs])
    reruns.hold(tx, [job.id for job in known.values()])
    ready = follow_turns(tx, catalogue, plans.plan(tx, plan)) if names else []
    if left := {**left_out, **again.left_out}:
        submissions.record_unchanged(tx, number, _listed(left))
    return ready


def _listed(left_out: Mapping[JobName, str]) -> str:
    named = "; ".join(f"{name}: {reason}" for name, reason in [*left_out.items()][:NAMED_MAX])
    more = f"; and {len(left_out) - NAMED_MAX} more" if len(left_out) > NAMED_MAX else ""
    return f"Not run again: {named}{more}"


def _refusal(id: str, found: submission_progress.SubmissionStatus | None) -> BadRequest:
    """Return why a submission cannot be retried."""
    if found is None:
        return BadRequest(
            f"There is no submission {id}.",
            advice="`sluice submissions` lists them; for one job give its app and its key.",
        )
    if found.is_open:
        return BadRequest(
            f"Submission {id} is {found.state}; only an ended submission can be run again.",
            advice=f"`sluice submissions {id}` shows how far it is.",
        )
    if found.state is SubmissionState.SUCCEEDED:
        return BadRequest(f"Submission {id} is {found.state}: none of its jobs has to be run again.")
    if found.state is SubmissionState.REFUSED:
        return BadRequest(
            f"Submission {id} was refused: {found.reason}", advice="Correct it and submit it again."
        )
    if found.paused_at is not None:
        return BadRequest(f"Submission {id} is paused.", advice=f"Run `sluice resume {id}` first.")
    return _being_undone(id)


def _being_undone(id: str) -> BadRequest:
    if id.endswith(COMPENSATION):
        saga = id.removesuffix(COMPENSATION)
        return BadRequest(
            f"Submission {saga}, which {id} undoes, is being run again.",
            advice=f"`sluice submissions {saga}` shows how far it is.",
        )
    return BadRequest(
        f"Submission {id} is being undone; it can be run again only after that.",
        advice=f"`sluice submissions {id}{COMPENSATION}` shows how far the undo is.",
    )
