"""Several walks, and several pushes, as one plan."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from jobs.catalogue import Catalogue
from jobs.catalogue.policy import parse_policy
from jobs.plan import Plan, PlannedJob, Standing
from jobs.ref import JobName
from jobs.submission import JSON
from planner.keyspaces import keyspace_of
from planner.walk import Walk

_EXPECTED = PlannedJob(name=JobName("", ""), standing=Standing.EXPECTED)


def merge(catalogue: Catalogue, walks: Iterable[Walk]) -> Plan:
    """One plan for all that have arrived. Where two want a job under different terms, the first wins."""
    jobs: dict[JobName, PlannedJob] = {}
    wants: list[tuple[int, JobName]] = []
    reruns = []
    for walk in walks:
        for job in walk.jobs():
            _put(jobs, job)
        wants.extend(walk.wants())
        if again := walk.rerun():
            reruns.append(again)
    return Plan(jobs=in_order(catalogue, jobs.values()), wants=tuple(wants), reruns=tuple(reruns))


class Push(NamedTuple):
    """A child that follows from a parent's success, for the submissions that want it to; it takes over the
    parent's terms."""

    child: JobName
    submissions: tuple[int, ...]
    kwargs: Mapping[str, JSON]
    overrides: Mapping[str, JSON]


def push(catalogue: Catalogue, pushes: Iterable[Push]) -> Plan:
    """Children that nobody asked for (bubble down).

    Their other parents are named and not asked for: pushing goes down only.
    """
    jobs: dict[JobName, PlannedJob] = {}
    wants: list[tuple[int, JobName]] = []
    for each in pushes:
        wants.extend((number, each.child) for number in each.submissions)
        if jobs.get(each.child, _EXPECTED).standing is Standing.EXPECTED:
            for job in _pushed(catalogue, each):
                _put(jobs, job)
    return Plan(jobs=in_order(catalogue, jobs.values()), wants=tuple(wants), pushed=True)


def in_order(catalogue: Catalogue, jobs: Iterable[PlannedJob]) -> tuple[PlannedJob, ...]:
    """Parents before children, and the same order in every process that has these definitions."""
    return tuple(sorted(jobs, key=lambda job: (catalogue.rank(job.name.app), job.name)))


def _pushed(catalogue: Catalogue, each: Push) -> Iterable[PlannedJob]:
    name, overrides = each.child, each.overrides
    app = catalogue.app(name.app)
    keyspace = keyspace_of(app, catalogue)
    if not keyspace.passes(app, name.key):
        yield PlannedJob(name=name, standing=Standing.SKIPPED)
        return
    gates = keyspace.gates(app, name.key)
    policy = app.policy.overridden(parse_policy(overrides))
    yield PlannedJob(
        name=name,
        standing=Standing.WANTED,
        gates=gates,
        policy=policy,
        overrides=overrides,
        kwargs=each.kwargs,
    )
    for gate in gates:
        for need in gate.needs:
            yield PlannedJob(name=need.parent, standing=Standing.EXPECTED)


def _put(jobs: dict[JobName, PlannedJob], job: PlannedJob) -> None:
    """Being wanted outranks being expected; otherwise the first to name a job sets its terms."""
    known = jobs.get(job.name)
    if known is None or (known.standing is Standing.EXPECTED and job.standing is not Standing.EXPECTED):
        jobs[job.name] = job
