"""Planning of submissions about partitions, and about jobs with keys that need partitions or chunks, each by itself and
in its own transaction.

Planners take turns by table. So a planner sees the partitions that others have claimed, joins their jobs, and claims
the rest. It locks the jobs that it joins, so that they cannot end before it has recorded that it waits for them. If one
has ended before the lock, the planner reads the tables again (``table_plans``).

For chunks, planners take turns by app, and the submission waits for work in progress (``chunk_plans``).
"""

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from sluice.actors.branches import branch_of
from sluice.actors.dispatch import announce
from sluice.actors.planner import table_plans
from sluice.actors.planner.bubble_up import follow_turns
from sluice.actors.planner.chunk_plans import wait_for
from sluice.actors.planner.notify_rules import rules_of
from sluice.actors.planner.retries import run_again
from sluice.actors.planner.table_plans import Asked, TablePlan
from sluice.actors.planner.walks import arrive, attempt, stop
from sluice.broker.messages import Message
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.app import App
from sluice.jobs.model.plan import JobPlan
from sluice.jobs.model.submission import Submission
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.job_graph import demand
from sluice.ledger.job_graph.readiness import ReadyJob
from sluice.ledger.keyspaces import freshness, partitions
from sluice.ledger.lifecycle import submissions
from sluice.ledger.lifecycle.submissions import ReceivedSubmission
from sluice.ledger.limits import pauses
from sluice.ledger.notifications import subscriptions
from sluice.planner.bubble_up.merge import merge
from sluice.planner.bubble_up.walk import Walk
from sluice.planner.keyspaces.chunks.chunk_readers import chunk_apps_of
from sluice.planner.keyspaces.partitions.daily_jobs import day_of
from sluice.planner.keyspaces.partitions.levels import of_level, with_tables
from sluice.planner.keyspaces.partitions.partition_keys import is_by_partition, meant
from sluice.planner.keyspaces.partitions.refill import tables_of


def needs_others(catalogue: Catalogue, submission: Submission) -> bool:
    """Return whether a plan for the submission may have steps or chunks, and jobs with keys."""
    return is_by_partition(catalogue, submission) or (
        submission.app in catalogue and catalogue.may_need_others(submission.app)
    )


def plan_with_tables(
    ledger: Ledger, catalogue: Catalogue, received: ReceivedSubmission, submission: Submission
) -> Sequence[Message]:
    """Plan the submission, or refuse it."""
    work = partial(_plan, catalogue=catalogue, id=received.id, submission=submission)
    return ledger.transact(work)


def _plan(tx: Tx, *, catalogue: Catalogue, id: str, submission: Submission) -> Sequence[Message]:
    held = submissions.lock_one_unplanned(tx, id)
    if held is None:
        return []
    number = held.number
    if held.again:
        submission = replace(submission, rerun=None)
        demand.forget_steps(tx, number)
    try:
        rules = rules_of(catalogue, submission)
        catalogue = catalogue if submission.branch is None else branch_of(tx, submission.branch)
        submission = meant(catalogue, submission)
        partitions.lock_tables(tx, tables_of(catalogue, submission))
        freshness.lock_apps(tx, chunk_apps_of(catalogue, submission.app))
        keyed = _keyed(tx, catalogue, number, submission)
        revived = _days_to_revive(tx, catalogue, number) if held.again else []
        plan = table_plans.complete(tx, catalogue, Asked(number, submission), keyed, revived)
    except BadRequest as error:
        submissions.refuse(tx, number, error.reason)
        return []
    if plan.waits_for:
        wait_for(tx, number, plan.waits_for)
        return []
    subscriptions.set_rules(tx, [(number, rules)])
    marks = pauses.lock_pauses(tx, [number])
    submissions.activate(tx, [number])
    revive = partial(_revive, tx, catalogue, plan) if held.again else table_plans.nothing
    entered = table_plans.enter(tx, catalogue, plan, revive)
    ready = follow_turns(tx, catalogue, entered.told)
    subscriptions.add_events(tx, marks.notifying, entered.requested)
    submissions.settle(tx, [number])
    return announce(tx, ready)


def _keyed(tx: Tx, catalogue: Catalogue, number: int, submission: Submission) -> JobPlan:
    """Return the plan of the jobs with keys that the submission requests, without the steps that they need."""
    if is_by_partition(catalogue, submission):
        return JobPlan(jobs=(), requests=())
    now = tx.current_time() if catalogue.minds_age(submission.app) else None
    begun = attempt(partial(Walk, catalogue, number, submission, now), number, stop)
    return merge(catalogue, arrive(tx, catalogue, [begun] if begun else [], now, stop))


def _days_to_revive(tx: Tx, catalogue: Catalogue, number: int) -> list[tuple[App, int]]:
    """Return the apps and days of the unsuccessful jobs that read tables. They need partitions when they run again."""
    names = [
        name
        for name in demand.unsuccessful(tx, number)
        if name.app in catalogue and catalogue[name.app].reads_tables
    ]
    return [(catalogue[name.app], day_of(catalogue[name.app], name.key)) for name in names]


def _revive(tx: Tx, catalogue: Catalogue, plan: TablePlan, level: int) -> list[ReadyJob]:
    """Run the unsuccessful jobs with keys of one level again, with the steps that they need now."""
    return run_again(
        tx,
        catalogue,
        plan.number,
        among=lambda name: name.app in catalogue and catalogue.level(name.app) == level,
        complete=lambda keyed: of_level(catalogue, with_tables(catalogue, keyed, plan.layout), level),
    )
