"""Rerun of a submission's jobs under today's definitions, without jobs that it never requested."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.app import App
from sluice.jobs.model.dependency import Need
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import EntryState, JobPlan, PlannedJob, RerunRequest
from sluice.jobs.model.pool import pool_of, rate_of
from sluice.planner.bubble_up.merge import in_order, put
from sluice.planner.bubble_up.walk import with_added
from sluice.planner.keyspaces.choose import keyspace_of


class RerunPlan(Struct, frozen=True):
    """Plan that runs the jobs again. ``left_out`` are the jobs that cannot run any more, each with the reason."""

    plan: JobPlan
    left_out: Mapping[JobName, str]


def plan_again(
    catalogue: Catalogue, number: int, names: Iterable[JobName], added: Mapping[JobName, tuple[Need, ...]]
) -> RerunPlan:
    """Plan these jobs of a submission again. Their parents are named, but not requested. The needs that do not come
    from their definitions are ``added``; they keep these."""
    jobs: dict[JobName, PlannedJob] = {}
    again: list[JobName] = []
    left_out: dict[JobName, str] = {}
    for name in names:
        try:
            planned = _planned(catalogue, number, name, added.get(name, ()))
        except BadRequest as error:
            left_out[name] = error.what
        except Exception as error:
            # Filters and two-way functions are users' code.
            left_out[name] = f"{type(error).__name__}: {error}"
        else:
            again.append(name)
            for job in planned:
                put(jobs, job)
    rerun = RerunRequest(number, tuple(again), alone=True)
    return RerunPlan(JobPlan(jobs=in_order(catalogue, jobs.values()), requests=(), reruns=(rerun,)), left_out)


def _planned(
    catalogue: Catalogue, number: int, name: JobName, added: tuple[Need, ...]
) -> tuple[PlannedJob, ...]:
    """Return the job and its parents. The job keeps its own kwargs and overrides, because the ledger has them."""
    app = catalogue.app(name.app)
    keyspace = keyspace_of(app, catalogue)
    if not keyspace.passes(app, name.key):
        raise BadRequest(f"{name} does not pass valid_if_or any more.", where=app.name)
    keeps = _keeps_its_needs(catalogue, app)
    gates = () if keeps else with_added(keyspace.gates(app, name.key), added)
    job = PlannedJob(
        name=name,
        standing=EntryState.WANTED,
        gates=gates,
        digest=None if keeps else app.digest,
        policy=app.policy,
        offset_s=app.policy.start_offset_s(name, str(number)),
        pool=pool_of(app, app.policy, name.key, {}),
        rate=rate_of(app, name.key, {}),
    )
    parents = (need.parent for gate in gates for need in gate.needs)
    return (job, *(PlannedJob(name=parent, standing=EntryState.EXPECTED) for parent in parents))


def _keeps_its_needs(catalogue: Catalogue, app: App) -> bool:
    """Return whether the app's jobs keep the needs that they were planned with. Chunks and compensations do."""
    return app.chunking is not None or catalogue.undoes(app.name)
