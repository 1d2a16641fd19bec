"""Plans of jobs with keys that read tables: their needs for steps, and their parts by level (``Catalogue.level``)."""

from collections.abc import Collection, Iterable, Iterator

from msgspec.structs import replace

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.keys.calendar import Span
from sluice.jobs.model.dependency import Gate, Need
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import EntryState, JobPlan, PlannedJob, RerunRequest
from sluice.planner.keyspaces.partitions.daily_jobs import day_of
from sluice.planner.keyspaces.partitions.partition_plan import Layout
from sluice.planner.keyspaces.partitions.table_readings import will_read


def with_tables(catalogue: Catalogue, plan: JobPlan, layout: Layout) -> JobPlan:
    """Return the plan in which the jobs that read tables also need the steps that make missing partitions.

    A step's partitions depend on the time of the plan, so these jobs get their needs again even if their definition has
    not changed.
    """
    jobs = [_with_tables(catalogue, job, layout) for job in plan.jobs]
    reading = frozenset(job.name for job in jobs if will_read(catalogue, job))
    return replace(plan, jobs=tuple(jobs), rewired=plan.rewired | reading)


def missing_inputs(layout: Layout, jobs: Iterable[PlannedJob], walked: Collection[JobName]) -> list[JobName]:
    """Return the inputs of a layout that no walk has reached yet. Inputs that must run again need a walk of their own,
    even if they are planned."""
    forced = layout.forced_inputs
    planned = {job.name for job in jobs if job.standing is not EntryState.EXPECTED} - forced
    return [name for name in layout.inputs if name not in planned and name not in walked]


def of_level(catalogue: Catalogue, plan: JobPlan, level: int) -> JobPlan:
    """Return the part of a plan on one level. Parents on lower levels are named."""

    def on_level(name: JobName) -> bool:
        return catalogue.level(name.app) == level

    jobs = [
        job
        for job in plan.jobs
        if (job.standing is not EntryState.EXPECTED or job.gates) and on_level(job.name)
    ]
    own = {job.name for job in jobs}
    parents = {need.parent for job in jobs for gate in job.gates for need in gate.needs} - own
    return replace(
        plan,
        jobs=(*(PlannedJob(name=name, standing=EntryState.EXPECTED) for name in sorted(parents)), *jobs),
        requests=tuple(each for each in plan.requests if on_level(each[1])),
        reruns=tuple(_reruns(plan.reruns, own)),
        rewired=plan.rewired & own,
    )


def _with_tables(catalogue: Catalogue, job: PlannedJob, layout: Layout) -> PlannedJob:
    if not will_read(catalogue, job):
        return job
    app = catalogue[job.name.app]
    day = day_of(app, job.name.key)
    needs = layout.needs(app, Span(day, day))
    if not needs:
        return job
    gates = job.gates or (Gate("", ()),)
    return replace(job, gates=tuple(Gate(gate.name, _united(gate.needs, needs)) for gate in gates))


def _united(defined: tuple[Need, ...], of_tables: tuple[Need, ...]) -> tuple[Need, ...]:
    """Return the needs in canonical order. No parent occurs twice, because definitions name no steps."""
    return tuple(sorted((*defined, *of_tables), key=lambda need: need.parent))


def _reruns(reruns: tuple[RerunRequest, ...], own: set[JobName]) -> Iterator[RerunRequest]:
    for rerun in reruns:
        if names := tuple(name for name in rerun.names if name in own):
            stale = {name: claim for name, claim in rerun.stale.items() if name in own}
            yield replace(rerun, names=names, stale=stale)
