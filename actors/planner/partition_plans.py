"""Planning of submissions about partitions, each by itself and in its own transaction.

Planners take turns by table. So a planner sees the partitions that others have claimed, joins their jobs, and claims
the rest. It locks the jobs that it joins, so that they cannot end before it has recorded that it waits for them. If one
has ended before the lock, the planner reads the tables again.

If jobs with keys make a table, the plan also enters the jobs that make missing partitions, and all that they need. They
are entered before the steps, in the same transaction.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice
from typing import NoReturn

from msgspec.structs import replace

from sluice.actors.branches import branch_of
from sluice.actors.dispatch import announce
from sluice.actors.executor import assignments
from sluice.actors.planner.bubble_up import arrive, follow_turns
from sluice.actors.planner.notify_rules import rules_of
from sluice.actors.planner.retries import run_again
from sluice.broker.messages import Message
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.calendar import Span
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import PlannedJob, RequestReason
from sluice.jobs.model.submission import Submission
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.job_graph import demand, known_jobs, priorities
from sluice.ledger.job_graph.readiness import ReadyJob
from sluice.ledger.keyspaces import partition_jobs, partitions
from sluice.ledger.keyspaces.partitions import Joined
from sluice.ledger.lifecycle import plans, submissions
from sluice.ledger.lifecycle.submissions import ReceivedSubmission
from sluice.ledger.limits import pauses
from sluice.ledger.notifications import subscriptions
from sluice.planner.bubble_up.merge import merge
from sluice.planner.keyspaces.partitions.input_walk import InputWalk
from sluice.planner.keyspaces.partitions.partition_keys import meant
from sluice.planner.keyspaces.partitions.partition_plan import Layout
from sluice.planner.keyspaces.partitions.refill import tables_of
from sluice.planner.keyspaces.partitions.table_demand import Supply

#: Number of jobs that are inserted together.
BATCH = 5_000


def plan_by_partition(
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
        layout, joined = _lay_out(tx, catalogue, submission)
        inputs = _walk_to_inputs(tx, catalogue, number, submission, layout)
    except BadRequest as error:
        submissions.refuse(tx, number, error.reason)
        return []
    subscriptions.set_rules(tx, [(number, rules)])
    marks = pauses.lock_pauses(tx, [number])
    submissions.activate(tx, [number])
    demand.request(tx, [(number, job, RequestReason.PULLED) for job in joined.jobs])
    priorities.lend(tx, priorities.raise_to(tx, dict.fromkeys(joined.jobs, layout.priority)))
    let_go = pauses.apply(tx, joined.paused)
    assignments.keep(tx, [supply.app for supply in layout.supplies if supply.app and supply.steps])
    ready = run_again(tx, catalogue, number) if held.again else []
    entering = _Entering(tx, layout, number)
    if inputs:
        ready += follow_turns(tx, catalogue, plans.plan(tx, merge(catalogue, [inputs])))
        entering.note_inputs(inputs.inputs)
    ready += entering.enter()
    subscriptions.add_events(tx, marks.notifying, entering.requested)
    submissions.settle(tx, [number])
    return announce(tx, let_go + ready)


def _lay_out(tx: Tx, catalogue: Catalogue, submission: Submission) -> tuple[Layout, Joined]:
    """Return the layout of the submission, and the locked jobs in progress that it waits for.

    Each repetition finds another job dead, and no other planner claims partitions during this time, so this ends.
    """
    while True:
        layout = Layout(catalogue, submission, partitions.LedgerTables(tx))
        joined = partitions.join(tx, [job.id for supply in layout.supplies for job in supply.joined])
        if joined is not None:
            return layout, joined


def _walk_to_inputs(
    tx: Tx, catalogue: Catalogue, number: int, submission: Submission, layout: Layout
) -> InputWalk | None:
    """Return the walk to the jobs with keys that make missing partitions, or None if there are none."""
    if not (inputs := layout.inputs):
        return None
    now = tx.current_time() if any(catalogue.minds_age(name.app) for name in inputs) else None
    (walk,) = arrive(tx, [InputWalk(catalogue, number, submission, now, inputs=inputs)], now, _raise)
    return walk


def _raise(number: int, reason: str) -> NoReturn:
    raise BadRequest(reason)


class _Entering:
    """Insertion of the jobs of one layout into the ledger, table by table."""

    def __init__(self, tx: Tx, layout: Layout, number: int) -> None:
        self._tx = tx
        self._layout = layout
        self._number = number
        self._ids = {job.name: job.id for supply in layout.supplies for job in supply.joined}
        self._joined = {*self._ids}
        self._again: list[int] = []
        self.requested: set[int] = set()

    def note_inputs(self, inputs: Sequence[JobName]) -> None:
        """Note the jobs with keys that steps need. They have been planned before the steps."""
        self._ids.update({name: job.id for name, job in known_jobs.find(self._tx, inputs).items()})
        self._joined.update(inputs)

    def enter(self) -> list[ReadyJob]:
        """Insert the jobs, and return the jobs that may run now."""
        ready: list[ReadyJob] = []
        for supply in self._layout.supplies:
            request_reason = (
                RequestReason.ASKED if self._layout.is_asked_for(supply) else RequestReason.PULLED
            )
            self._want((job.id for job in supply.joined), request_reason)
            if supply.daily_jobs:
                continue
            ahead = zip(self._layout.jobs(supply), supply.steps, strict=True)
            while batch := list(islice(ahead, BATCH)):
                ready += self._enter(supply, batch, request_reason)
        partitions.extend_requests(self._tx, self._again)
        return ready

    def _enter(
        self, supply: Supply, batch: Sequence[tuple[PlannedJob, Span]], request_reason: RequestReason
    ) -> list[ReadyJob]:
        jobs = [job for job, _ in batch]
        if supply.app is None:
            self._ids.update(partition_jobs.expect(self._tx, jobs))
            return []
        entered = partition_jobs.enter(
            self._tx, jobs, self._ids, self._joined, even=self._layout.is_even, submission=self._number
        )
        self._ids.update(entered.ids)
        self._joined |= entered.living
        self._again += entered.again
        made = [
            partitions.PartitionStep(self._ids[job.name], step, self._layout.is_stale(supply, step))
            for job, step in batch
            if job.name not in entered.living
        ]
        partitions.claim(self._tx, supply.table, supply.app.version, made)
        self._want((self._ids[job.name] for job in jobs), request_reason)
        return entered.ready

    def _want(self, jobs: Iterable[int], request_reason: RequestReason) -> None:
        wanted = [*jobs]
        self.requested.update(wanted)
        demand.request(self._tx, [(self._number, job, request_reason) for job in wanted])
