"""Several walks, and several pushes, as one plan."""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.plan import Plan, PlannedJob, Rerun, Standing, Wish
from sluice.jobs.pooling import pool_of
from sluice.jobs.ref import JobName
from sluice.jobs.submission import JSON
from sluice.planner.fitting import terms_of
from sluice.planner.keyspaces import keyspace_of
from sluice.planner.walk import Walk

_NUMBER = re.compile(r"\d+")
#: Of longer numbers the digits decide.
_DIGITS = 20


def merge(catalogue: Catalogue, walks: Iterable[Walk]) -> Plan:
    """One plan for all that have arrived. Where two want a job under different terms, the first wins."""
    jobs: dict[JobName, PlannedJob] = {}
    wants: list[tuple[int, JobName, Wish]] = []
    reruns: list[Rerun] = []
    for walk in walks:
        for job in walk.jobs():
            put(jobs, job)
        wants.extend(walk.wants())
        reruns.extend(walk.reruns())
    return Plan(jobs=in_order(catalogue, jobs.values()), wants=tuple(wants), reruns=tuple(reruns))


class Push(Struct, frozen=True, eq=False):
    """A child that follows from a parent's success, for the submissions that want it to; it takes over the
    parent's terms. Each push is itself: two for one child are two."""

    child: JobName
    submissions: tuple[int, ...]
    kwargs: Mapping[str, JSON]
    overrides: Mapping[str, JSON]


def follow(catalogue: Catalogue, push: Push) -> tuple[PlannedJob, ...]:
    """The child as it would be planned, and its parents, who are named and not asked for: pushing goes down only.

    BadRequest where the definitions do not have it (any more), or its filter raises.
    """
    name = push.child
    app = catalogue.app(name.app)
    keyspace = keyspace_of(app, catalogue)
    if not keyspace.passes(app, name.key):
        return (PlannedJob(name=name, standing=Standing.SKIPPED),)
    gates = keyspace.gates(app, name.key)
    overrides, policy = terms_of(app, push.overrides)
    child = PlannedJob(
        name=name,
        standing=Standing.WANTED,
        gates=gates,
        digest=app.digest,
        policy=policy,
        offset_s=policy.start_offset_s(name, str(push.submissions)),
        overrides=overrides,
        kwargs=push.kwargs,
        pool=pool_of(app, policy, name.key, push.kwargs),
    )
    parents = (need.parent for gate in gates for need in gate.needs)
    return (child, *(PlannedJob(name=parent, standing=Standing.EXPECTED) for parent in parents))


def merge_pushes(catalogue: Catalogue, pushes: Mapping[Push, tuple[PlannedJob, ...]]) -> Plan:
    """One plan for children that nobody asked for (bubble down). The first to name a job sets its terms."""
    jobs: dict[JobName, PlannedJob] = {}
    for planned in pushes.values():
        for job in planned:
            put(jobs, job)
    wants = tuple((number, push.child, Wish.PUSHED) for push in pushes for number in push.submissions)
    return Plan(jobs=in_order(catalogue, jobs.values()), wants=wants)


def in_order(catalogue: Catalogue, jobs: Iterable[PlannedJob]) -> tuple[PlannedJob, ...]:
    """Parents before children, and the same order in every process that has these definitions.

    Of one app in the order that a reader would put the keys in, with 2 before 10: who is entered first is the older.
    """
    return tuple(
        sorted(jobs, key=lambda job: (catalogue.rank(job.name.app), job.name.app, *_as_read(job.name.key)))
    )


def _as_read(key: str) -> tuple[str, str]:
    """Numbers in it are compared as such; keys that come out alike, as they are written."""
    return _NUMBER.sub(lambda number: number[0].zfill(_DIGITS), key), key


def put(jobs: dict[JobName, PlannedJob], job: PlannedJob) -> None:
    """Being wanted outranks being expected, and to run outranks to stay as it is; otherwise the first to name a job
    sets its terms."""
    known = jobs.get(job.name)
    if known is None or _rank(known) < _rank(job):
        jobs[job.name] = job


def _rank(job: PlannedJob) -> tuple[bool, bool]:
    """Only what may run has had anybody look at what it needs."""
    return job.standing is not Standing.EXPECTED, bool(job.gates) or job.digest is not None
