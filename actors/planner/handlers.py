"""The planner: admits submissions, plans them, judges executed jobs, and notifies their children.

Every handler takes a ledger, the catalogue and a message, and returns messages. It can safely run again.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import NamedTuple

from sluice.actors.dispatch import announce, tell
from sluice.actors.executor.transactions import Capacity, claim_planned
from sluice.actors.planner import expansions
from sluice.actors.planner.admission import RESERVED, admit
from sluice.actors.planner.bubble_down import may_push, push_children
from sluice.actors.planner.bubble_up import follow_turns, plan_together
from sluice.actors.planner.chunk_plans import SELECT_S, plan_by_chunk, selects_work_ids
from sluice.actors.planner.compensation_plans import plan_compensation
from sluice.actors.planner.daily_tables import record_days
from sluice.actors.planner.partition_plans import needs_others, plan_with_tables
from sluice.actors.planner.plan_attempts import PlanAttempts, Underway, sort_out
from sluice.actors.planner.retries import plan_retry, plan_selected
from sluice.actors.planner.walks import Refuse
from sluice.broker.messages import Cancel, Ended, Executed, Message, Plan, Submit, SubmitMany
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadMessage
from sluice.jobs.model.names import JobName
from sluice.jobs.model.request_limits import oversized
from sluice.jobs.model.submission import COMPENSATION, Submission
from sluice.jobs.observe.failpoints import TransactionKind
from sluice.jobs.policy.retry_budget import RetryBudget
from sluice.jobs.policy.tenants import Tenant
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.job_graph import dependencies
from sluice.ledger.lifecycle import bisection, judgements, requests, submissions
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ledger.limits import quotas
from sluice.planner.judge import judge
from sluice.planner.keyspaces.chunks.chunk_keys import is_by_chunk
from sluice.planner.keyspaces.partitions.partition_keys import is_by_partition
from sluice.planner.quotas import divided

#: Maximum number of submissions that are planned in one transaction.
BATCH = 200
#: Seconds until a submission for an unknown app is checked again: 2, about as often as definitions are.
UNKNOWN_APP_RETRY_S = 2.0
#: Seconds until a submission above its tenant's quota is checked again: 2, the time between two counts of jobs.
QUOTA_RETRY_S = 2.0
#: Reason of the wait. After the grace period the submission is refused, and the reason lists similar names.
UNKNOWN_APP = "Its app is not defined yet."


class Admission(NamedTuple):
    """Messages that have an admitted submission planned. If it is small, it is planned together with others."""

    plans: Sequence[Plan]
    is_small: bool


def admit_one(ledger: Ledger, catalogue: Catalogue, message: Submit) -> Admission:
    """Admit a submission, or refuse it: then nothing is planned."""
    admitted = admit(ledger, [(message.id, message.submission)], signed_by=message.signed_by)
    plans = [Plan(submissions=(row.require_id(),)) for row in admitted]
    return Admission(plans, any(_is_small(catalogue, row) for row in admitted))


def submit(ledger: Ledger, catalogue: Catalogue, message: Submit) -> Sequence[Message]:
    """Admit a submission. The returned message has it planned."""
    return admit_one(ledger, catalogue, message).plans


def submit_many(
    ledger: Ledger, catalogue: Catalogue, message: SubmitMany, attempts: PlanAttempts | None = None
) -> Sequence[Message]:
    """Admit and plan submissions. A row without an id gets one from the message's id, so that a repeated message
    changes nothing."""
    rows = [(f"{message.id}/{place}", row) for place, row in enumerate(message.submissions)]
    admitted = admit(ledger, rows, signed_by=message.signed_by)
    planning = Plan(submissions=tuple(row.require_id() for row in admitted))
    return plan(ledger, catalogue, planning, attempts)


def plan(
    ledger: Ledger, catalogue: Catalogue, message: Plan, attempts: PlanAttempts | None = None
) -> Sequence[Message]:
    """Plan received submissions. If another planner has taken a submission, that one is left alone. Submissions that
    have piled up behind them are planned in the same transaction, so that their own messages find nothing left to
    do."""
    return plan_and_claim(ledger, catalogue, message, attempts).messages


def parts(message: Plan) -> list[Plan]:
    """Divide a message into messages that are planned in one transaction each. A short one is returned as it is."""
    ids = message.submissions
    if 0 < len(ids) <= BATCH:
        return [message]
    return [Plan(submissions=ids[start : start + BATCH]) for start in range(0, len(ids), BATCH)]


class PlanResult(NamedTuple):
    """Messages to send, and the jobs that the worker of the ``capacity`` must run now, by these definitions."""

    messages: Sequence[Message]
    taken: list[ClaimedJob]


def plan_and_claim(
    ledger: Ledger,
    catalogue: Catalogue,
    message: Plan,
    attempts: PlanAttempts | None = None,
    capacity: Capacity | None = None,
) -> PlanResult:
    """Plan received submissions, and claim some of their ready jobs for a worker with ``capacity``.

    Only small submissions of a message lead to claims: jobs must not wait for the rest of a long planning.
    """
    messages: list[Message] = []
    taken: list[ClaimedJob] = []
    if len(message.submissions) > BATCH:
        capacity = None
    with (attempts or PlanAttempts(ledger)).underway() as underway:
        for part in parts(message):
            ids = list(part.submissions)
            planned = ledger.transact(
                partial(_plan, catalogue=catalogue, ids=ids, underway=underway, capacity=capacity),
                TransactionKind.PLAN,
            )
            messages += planned.messages
            taken += planned.taken
            for received, submission, plan_one in planned.apart:
                underway.begin([received])
                messages += plan_one(ledger, catalogue, received, submission)
    return PlanResult(messages, taken)


def cancel(ledger: Ledger, catalogue: Catalogue, message: Cancel) -> Sequence[Message]:
    """Cancel a submission, or one job for all of its submissions. The next message notifies the children of the
    jobs."""

    def work(tx: Tx) -> tuple[list[int] | None, list[Message]]:
        if message.submission is not None:
            ended = submissions.cancel(tx, message.submission)
        elif message.app is None or message.key is None:
            raise BadMessage("A cancel message names a submission, or an app and a key.")
        else:
            ended = submissions.cancel_job(tx, JobName(message.app, message.key))
        return ended, [*tell(ended or []), *announce(tx, [])]

    _, messages = ledger.transact(work, TransactionKind.CANCEL)
    return messages


def executed(ledger: Ledger, catalogue: Catalogue, message: Executed) -> Sequence[Message]:
    """Judge jobs, split failed chunks, and open the gates of their children. Then plan children that no submission
    requested, in a transaction of its own."""

    def work(tx: Tx) -> tuple[_Pushing, list[Message]]:
        if catalogue.has_chunks:
            bisection.lock_requesters(tx, list(message.jobs))
        judged = judgements.judge(tx, list(message.jobs), judge, partial(_budget, catalogue))
        halved = bisection.split(tx, judged.failed)
        ended = {**judged.ended, **halved.cancelled}
        told = dependencies.propagate(tx, list(ended))
        ready = follow_turns(tx, catalogue, told._replace(turned=[*told.turned, *judged.turned]))
        adding = set(judged.adding)
        childless = [job for job, app in ended.items() if job not in adding and not may_push(catalogue, app)]
        dependencies.remove_from_outbox(tx, childless)
        submissions.settle_blocked_by(tx, childless)
        pushing = [job for job in ended if job not in childless]
        return _Pushing(pushing, judged.adding), [*announce(tx, judged.ready + halved.ready + ready)]

    pushing, messages = ledger.transact(work, TransactionKind.JUDGE)
    return messages + _push(ledger, catalogue, pushing)


def _budget(catalogue: Catalogue, app: str) -> RetryBudget | None:
    found = catalogue.get(app)
    return found.retry_budget if found else None


def ended(ledger: Ledger, catalogue: Catalogue, message: Ended) -> Sequence[Message]:
    """Notify the children of jobs that ended without a judgement, or that were judged by a planner that died."""

    def work(tx: Tx) -> tuple[_Pushing, list[Message]]:
        if catalogue.has_chunks:
            bisection.lock_requesters(tx, list(message.jobs))
        halved = bisection.split(tx, list(message.jobs))
        adding = dependencies.lock_ended(tx, list(message.jobs))
        ended = [*message.jobs, *halved.cancelled]
        ready = follow_turns(tx, catalogue, dependencies.propagate(tx, ended))
        return _Pushing(ended, adding), [*announce(tx, halved.ready + ready)]

    told, messages = ledger.transact(work, TransactionKind.ENDED)
    return messages + _push(ledger, catalogue, told)


class _Pushing(NamedTuple):
    """Ended jobs whose children are to be planned, and those among them that add jobs (``job.expand``)."""

    ended: list[int]
    adding: list[int]


def _push(ledger: Ledger, catalogue: Catalogue, pushing: _Pushing) -> list[Message]:
    """Plan children apart from the judgement: that holds the parents' rows, and planning locks rows in an order of its
    own. Added jobs are planned before that, and days of tables are recorded. If added jobs cannot be planned, the job
    that adds them stays in the outbox. The last transaction removes the other jobs from there."""
    messages: list[Message] = []
    unplanned: set[int] = set()
    left_open: list[int] = []
    for job in pushing.adding:
        entered = ledger.transact(
            partial(expansions.enter, catalogue=catalogue, job=job), TransactionKind.EXPAND
        )
        messages += entered.messages
        if entered.is_unplanned:
            unplanned.add(job)
        if entered.is_left_open:
            left_open.append(job)
    ended = [job for job in pushing.ended if job not in unplanned]
    if ended and catalogue.daily_makers:
        messages += ledger.transact(lambda tx: record_days(tx, catalogue, ended))
    if ended:
        messages += ledger.transact(
            lambda tx: push_children(tx, catalogue, ended, left_open=left_open), TransactionKind.PUSH
        )
    return messages


#: A submission as it is in the ledger, and as it was read.
_Read = tuple[submissions.ReceivedSubmission, Submission]
#: Function that plans one submission in a transaction of its own.
PlanOne = Callable[[Ledger, Catalogue, submissions.ReceivedSubmission, Submission], Sequence[Message]]

_Apart = tuple[submissions.ReceivedSubmission, Submission, PlanOne]


class _Ways(NamedTuple):
    """Locked submissions, by where they are planned."""

    together: list[_Read]
    #: Planned next, in a transaction of its own. Only a submission that is named alone is.
    apart: list[_Apart]
    #: Left to messages of their own, so that the announcement of the other jobs does not wait for them.
    later: list[submissions.ReceivedSubmission]


class _PlannedBatch(NamedTuple):
    """Result of one transaction: the submission to plan apart, if there is one, the messages, and the claimed jobs."""

    apart: list[_Apart]
    messages: Sequence[Message]
    taken: list[ClaimedJob]


def _plan(
    tx: Tx, *, catalogue: Catalogue, ids: list[str], underway: Underway, capacity: Capacity | None
) -> _PlannedBatch:
    """Plan the submissions that are not planned yet. If one cannot be carried out, it is refused alone."""
    refuse = partial(submissions.refuse, tx)
    locked = submissions.lock_pending(tx, ids, most=BATCH, grace_s=catalogue.unknown_app_grace_s)
    held, attempted = sort_out(tx, locked, underway.worker)
    reread = [(each, read) for each in held if (read := _reread(each, refuse))]
    known = _set_unknown_aside(tx, catalogue, reread)
    ways = _divide(catalogue, _set_over_quota_aside(tx, catalogue, known), is_alone=len(ids) == 1)
    ways = _refuse_above_rate(tx, catalogue, ways, refuse)
    # Users' code selects the work IDs. It must run once, and not in every planner that receives the message.
    selecting = [
        each.number for each, read, by in ways.apart if by is plan_by_chunk and selects_work_ids(read)
    ]
    submissions.set_aside(tx, selecting, for_s=SELECT_S)
    underway.begin(each for each, _ in ways.together)
    numbered = [(each.number, read) for each, read in ways.together]
    planned, ready = plan_together(tx, catalogue, numbered, refuse)
    if ways.apart or any(_names_many(read) for _, read in ways.together):
        capacity = None
    taken, ready = claim_planned(tx, catalogue, ready, capacity)
    submissions.settle(tx, planned)
    # The planners of the messages of these submissions may have skipped them, because they were locked here.
    later = [Plan(submissions=(each.id,)) for each in ways.later]
    return _PlannedBatch(ways.apart, [*announce(tx, ready), *later, *attempted], taken)


def _set_unknown_aside(tx: Tx, catalogue: Catalogue, reread: list[_Read]) -> list[_Read]:
    """Set submissions aside whose app these definitions lack, until their grace period is over. Return the others."""
    early = {each.number for each, read in reread if each.recent and not _is_known(catalogue, read)}
    submissions.set_aside(tx, [*early], for_s=UNKNOWN_APP_RETRY_S, reason=UNKNOWN_APP)
    return [(each, read) for each, read in reread if each.number not in early]


def _set_over_quota_aside(tx: Tx, catalogue: Catalogue, reread: list[_Read]) -> list[_Read]:
    """Set submissions aside whose tenant has as many active jobs as it may have. Return the others."""
    quota = _quotas(catalogue, reread, lambda tenant: tenant.active_jobs)
    if not quota:
        return reread
    left = {
        tenant: most - quotas.active_jobs(tx, catalogue.apps_of(tenant)) for tenant, most in quota.items()
    }
    within, above = divided(reread, lambda each: catalogue.tenant_of(each[1].app), left)
    for tenant, most in quota.items():
        numbers = [each.number for each, read in above if catalogue.tenant_of(read.app) == tenant]
        reason = f"Its tenant {tenant} has its quota of {most} active jobs."
        submissions.set_aside(tx, numbers, for_s=QUOTA_RETRY_S, reason=reason)
    return within


def _refuse_above_rate(tx: Tx, catalogue: Catalogue, ways: _Ways, refuse: Refuse) -> _Ways:
    """Count the submissions that are planned now for their tenants, and refuse those above a tenant's rate. A retry is
    not counted."""
    planned = [*ways.together, *((each, read) for each, read, _ in ways.apart)]
    new = [(each, read) for each, read in planned if not each.again]
    quota = _quotas(catalogue, new, lambda tenant: tenant.submissions_per_minute)
    if not quota:
        return ways
    counts = Counter(tenant for _, read in new if (tenant := catalogue.tenant_of(read.app)) in quota)
    total = quotas.count_submissions(tx, counts)
    left = {tenant: most - total[tenant] + counts[tenant] for tenant, most in quota.items()}
    _, above = divided(new, lambda each: catalogue.tenant_of(each[1].app), left)
    for each, read in above:
        tenant = catalogue.tenant_of(read.app)
        refuse(
            each.number,
            f"Its tenant {tenant} may send {quota[tenant]} submissions a minute, and has sent more in this minute.",
        )
    return _without(ways, {each.number for each, _ in above})


def _without(ways: _Ways, refused: Collection[int]) -> _Ways:
    return _Ways(
        [each for each in ways.together if each[0].number not in refused],
        [each for each in ways.apart if each[0].number not in refused],
        ways.later,
    )


def _quotas(
    catalogue: Catalogue, reread: list[_Read], quota_of: Callable[[Tenant], int | None]
) -> dict[str, int]:
    """Return a quota of each tenant of these submissions that has it."""
    if not catalogue.tenant_settings.by_name:
        return {}
    tenants = {catalogue.tenant_of(read.app) for _, read in reread}
    found = {tenant: quota_of(catalogue.tenant_settings.of(tenant)) for tenant in tenants}
    return {tenant: most for tenant, most in found.items() if most is not None}


def _divide(catalogue: Catalogue, wanted: list[_Read], *, is_alone: bool) -> _Ways:
    """Divide submissions by where they are planned. ``is_alone``: the message names one submission only."""
    ways = _Ways([], [], [])
    for received, submission in wanted:
        plan_one = _planned_apart_by(catalogue, received, submission)
        if not (is_alone and received.named) and (plan_one or _names_many(submission)):
            ways.later.append(received)
        elif plan_one:
            ways.apart.append((received, submission, plan_one))
        else:
            ways.together.append((received, submission))
    return ways


def _names_many(submission: Submission) -> bool:
    """Return whether it names more keys than a small submission, or no keys: that means all that its definition
    enumerates."""
    return submission.key is None and not 0 < len(submission.keys or ()) <= submissions.FEW_KEYS


def _planned_apart_by(
    catalogue: Catalogue, received: submissions.ReceivedSubmission, submission: Submission
) -> PlanOne | None:
    """Return the function that plans the submission apart. None: it is planned together with others."""
    if _is_retried(catalogue, received, submission):
        return plan_retry
    if submission.rerun == "alone":
        return plan_selected
    if submission.compensates is not None:
        return plan_compensation
    if _is_by_chunk(catalogue, submission):
        return plan_by_chunk
    return plan_with_tables if needs_others(catalogue, submission) else None


def _is_retried(
    catalogue: Catalogue, received: submissions.ReceivedSubmission, submission: Submission
) -> bool:
    """Return whether its jobs are run again. A submission that needs partitions is planned as at first: existing
    partitions are left alone."""
    return received.again and not needs_others(catalogue, submission)


def _is_known(catalogue: Catalogue, submission: Submission) -> bool:
    return submission.app in catalogue or is_by_partition(catalogue, submission)


def _is_small(catalogue: Catalogue, submission: Submission) -> bool:
    return not (
        _names_many(submission) or _is_by_chunk(catalogue, submission) or needs_others(catalogue, submission)
    )


def _is_by_chunk(catalogue: Catalogue, submission: Submission) -> bool:
    return (
        submission.branch is None
        and submission.app in catalogue
        and is_by_chunk(catalogue[submission.app], submission)
    )


def _reread(received: submissions.ReceivedSubmission, refuse: Refuse) -> Submission | None:
    """Return the submission as it was admitted. If it was inserted by SQL it may turn out to be invalid, and is
    refused."""
    submission, reason = requests.read(received.body)
    if submission and submission.compensates is None and received.id.endswith(COMPENSATION):
        reason = RESERVED
    if submission and not reason:
        reason = oversized(submission.kwargs, submission.policy)
    if reason:
        refuse(received.number, reason)
    return None if reason else submission
