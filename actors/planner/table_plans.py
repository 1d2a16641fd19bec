"""Plans with steps or chunks: submissions about partitions, and about jobs with keys that need tables or work IDs.

Jobs with keys may make tables, and may read tables. So a plan consists of levels: even levels have jobs with keys and
chunks, odd levels have steps. A level needs only levels below it, and they are entered in this order, in one
transaction.

The caller has locked the tables (``partitions.lock_tables``) and the apps keyed by chunk (``freshness.lock_apps``).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from sluice.actors.executor import assignments
from sluice.actors.planner.walks import arrive, stop, with_inputs
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.keys.calendar import Span
from sluice.jobs.model.app import App
from sluice.jobs.model.freshness import UnfinishedWork
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import JobPlan, PlannedJob, RequestReason
from sluice.jobs.model.submission import Submission
from sluice.ledger.database.connection import Tx
from sluice.ledger.job_graph import demand, dependencies, known_jobs, priorities
from sluice.ledger.job_graph.dependencies import Propagated
from sluice.ledger.job_graph.readiness import ReadyJob, fail_upstream
from sluice.ledger.keyspaces import partition_jobs, partitions
from sluice.ledger.keyspaces.freshness import AsIfAlone, FreshnessFacts
from sluice.ledger.keyspaces.partitions import Joined
from sluice.ledger.lifecycle import plans
from sluice.ledger.limits import pauses
from sluice.planner.bubble_up.merge import joined_plans, merge
from sluice.planner.keyspaces.chunks.chunk_readers import with_chunks
from sluice.planner.keyspaces.partitions.input_walk import InputWalk
from sluice.planner.keyspaces.partitions.levels import missing_inputs, of_level, with_tables
from sluice.planner.keyspaces.partitions.partition_plan import Layout
from sluice.planner.keyspaces.partitions.table_demand import Supply
from sluice.planner.keyspaces.partitions.table_readings import days_to_run

#: Number of jobs that are inserted together.
BATCH = 5_000


class Asked(NamedTuple):
    """A submission with its number in the ledger."""

    number: int
    submission: Submission


class TablePlan(NamedTuple):
    """Complete plan of one submission: the steps in ``layout``, and all jobs with keys, with the steps that they need.

    ``joined`` are the locked jobs in progress that it waits for. ``keyed`` also has the chunks that jobs with keys
    need. If ``waits_for`` is not empty, the plan lacks chunks: it must be made again once that work has ended.
    """

    number: int
    layout: Layout
    joined: Joined
    keyed: JobPlan
    waits_for: Sequence[UnfinishedWork] = ()


def complete(
    tx: Tx,
    catalogue: Catalogue,
    asked: Asked,
    keyed: JobPlan,
    readings: Collection[tuple[App, int]] = (),
    *,
    may_wait: bool = True,
) -> TablePlan:
    """Complete a plan of jobs with keys: add the steps that make the partitions they read, the jobs with keys that
    these need, and so on, and the chunks. BadRequest if the submission cannot be carried out.

    ``readings`` are further days for which partitions are needed. The definitions have no circle, so this ends. If the
    submission may not wait (``may_wait``), work on the same work IDs is not waited for.
    """
    walked: set[JobName] = set()
    while True:
        days = [*readings, *days_to_run(catalogue, keyed.jobs)]
        layout, joined = _lay_out(tx, catalogue, asked.submission, days)
        inputs = missing_inputs(layout, keyed.jobs, walked)
        if not inputs:
            keyed = with_tables(catalogue, keyed, layout)
            keyed, waits_for = _with_chunks(tx, catalogue, asked, keyed, may_wait=may_wait)
            return TablePlan(asked.number, layout, joined, keyed, waits_for)
        walked.update(inputs)
        walk = _walk(tx, catalogue, asked, layout, inputs)
        keyed = joined_plans(catalogue, keyed, merge(catalogue, [walk]))


def _lay_out(
    tx: Tx, catalogue: Catalogue, submission: Submission, readings: Sequence[tuple[App, int]]
) -> tuple[Layout, Joined]:
    """Return the layout of the submission, and the locked jobs in progress that it waits for.

    Each repetition finds another job dead, and no other planner claims partitions during this time, so this ends.
    """
    while True:
        layout = Layout(catalogue, submission, partitions.LedgerTables(tx), readings)
        joined = partitions.join(tx, [job.id for supply in layout.supplies for job in supply.joined])
        if joined is not None:
            return layout, joined


def _walk(
    tx: Tx,
    catalogue: Catalogue,
    asked: Asked,
    layout: Layout,
    inputs: Sequence[JobName],
) -> InputWalk:
    """Return the walk to jobs with keys that make missing partitions."""
    now = tx.current_time() if any(catalogue.minds_age(name.app) for name in inputs) else None
    begun = InputWalk(catalogue, *asked, now, inputs=inputs, forced=layout.forced_inputs)
    (walk,) = arrive(tx, catalogue, [begun], now, stop)
    return walk


def _with_chunks(
    tx: Tx, catalogue: Catalogue, asked: Asked, keyed: JobPlan, *, may_wait: bool
) -> tuple[JobPlan, Sequence[UnfinishedWork]]:
    """Return the plan with the chunks that its jobs need, and the work that the submission must wait for first."""
    if not any(catalogue.names_work_ids(job.name.app) for job in keyed.jobs):
        return keyed, ()
    known = (FreshnessFacts if may_wait else AsIfAlone)(tx, tx.current_time(), asked.number)
    found = with_chunks(catalogue, asked.submission, keyed, known, number=asked.number)
    if found.waits_for:
        return keyed, found.waits_for
    plan = found.keyed
    for chunked in found.chunked:
        plan = joined_plans(
            catalogue, with_inputs(tx, catalogue, asked.submission, chunked, asked.number), plan
        )
    return plan, ()


def nothing(level: int) -> Iterable[ReadyJob]:
    """Do nothing before a level."""
    return ()


class EnteredPlan(NamedTuple):
    """Effects of a plan on the graph, and the steps that the submission requests."""

    told: Propagated
    requested: set[int]


def enter(
    tx: Tx,
    catalogue: Catalogue,
    plan: TablePlan,
    before: Callable[[int], Iterable[ReadyJob]],
) -> EnteredPlan:
    """Enter a plan, level by level. ``before`` is called with each level of jobs with keys, and returns jobs that may
    run because of it."""
    told = Propagated(_join(tx, catalogue, plan), [], {})
    entering = _Entering(tx, plan.layout, plan.number)
    top = max((catalogue.level(name) for name in catalogue), default=0)
    for level in range(0, top + 1, 2):
        told.ready.extend(before(level))
        part = of_level(catalogue, plan.keyed, level)
        if part.jobs:
            told = dependencies.together([told, plans.plan(tx, part)])
        entering.note_inputs([name for name in plan.layout.inputs if catalogue.level(name.app) == level])
        told.ready.extend(entering.enter(_supplies(catalogue, plan.layout, level + 1)))
        told = dependencies.together([told, _fail_upstream(tx, entering.unsure)])
    return EnteredPlan(told, entering.requested)


def _join(tx: Tx, catalogue: Catalogue, plan: TablePlan) -> list[ReadyJob]:
    """Request the jobs in progress that the plan waits for. Return the paused jobs that may run now."""
    demand.request(tx, [(plan.number, job, RequestReason.PULLED) for job in plan.joined.jobs])
    priorities.lend(tx, priorities.raise_to(tx, dict.fromkeys(plan.joined.jobs, plan.layout.priority)))
    kept = dict.fromkeys(supply.app.name for supply in plan.layout.supplies if supply.app and supply.steps)
    assignments.keep(tx, [catalogue[name] for name in kept])
    return pauses.apply(tx, plan.joined.paused)


def _fail_upstream(tx: Tx, steps: list[int]) -> Propagated:
    """End these steps if a job that they need has failed before. Return the consequences, also for later steps."""
    failed = fail_upstream(tx, steps)
    told = dependencies.propagate(tx, [*failed])
    return told._replace(upstream_failed={**failed, **told.upstream_failed})


def _supplies(catalogue: Catalogue, layout: Layout, level: int) -> Iterator[Supply]:
    """Yield the tables of one level. Tables that external processes fill are on the first one."""
    for supply in layout.supplies:
        if not supply.daily_jobs and level == (catalogue.level(supply.app.name) if supply.app else 1):
            yield supply


class _Entering:
    """Insertion of the jobs of one layout into the ledger, table by table."""

    def __init__(self, tx: Tx, layout: Layout, number: int) -> None:
        self._tx = tx
        self._layout = layout
        self._number = number
        self._ids = {job.name: job.id for supply in layout.supplies for job in supply.joined}
        self._joined = {*self._ids}
        #: Steps entered last that need jobs that existed before.
        self.unsure: list[int] = []
        self.requested: set[int] = set()

    def note_inputs(self, inputs: Sequence[JobName]) -> None:
        """Note the jobs with keys that steps need. They have been planned before the steps."""
        self._ids.update({name: job.id for name, job in known_jobs.find(self._tx, inputs).items()})
        self._joined.update(inputs)

    def enter(self, supplies: Iterable[Supply]) -> list[ReadyJob]:
        """Insert the jobs of these tables, and return the jobs that may run now."""
        ready: list[ReadyJob] = []
        again: list[int] = []
        self.unsure = []
        for supply in supplies:
            request_reason = (
                RequestReason.ASKED if self._layout.is_asked_for(supply) else RequestReason.PULLED
            )
            self._want((job.id for job in supply.joined), request_reason)
            ahead = zip(self._layout.jobs(supply), supply.steps, strict=True)
            while batch := list(islice(ahead, BATCH)):
                ready += self._enter(supply, batch, request_reason, again)
        partitions.extend_requests(self._tx, again)
        return ready

    def _enter(
        self,
        supply: Supply,
        batch: Sequence[tuple[PlannedJob, Span]],
        request_reason: RequestReason,
        again: list[int],
    ) -> list[ReadyJob]:
        """Insert a batch, and add the jobs that are rerun to ``again``."""
        jobs = [job for job, _ in batch]
        if supply.app is None:
            self._ids.update(partition_jobs.expect(self._tx, jobs))
            return []
        entered = partition_jobs.enter(
            self._tx, jobs, self._ids, self._joined, even=self._layout.is_even, submission=self._number
        )
        self._ids.update(entered.ids)
        self._joined |= entered.living
        again += entered.again
        self.unsure += entered.unsure
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
