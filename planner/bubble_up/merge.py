"""Merge of several walks, or of several pushes, into one plan."""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import EntryState, JobPlan, PlannedJob, RequestReason, RerunRequest
from sluice.jobs.model.pool import pool_of, rate_of
from sluice.jobs.model.submission import JSON
from sluice.planner.bubble_up.walk import Walk, terms_of
from sluice.planner.keyspaces.choose import keyspace_of

_NUMBER = re.compile(r"\d+")
#: Digits to which numbers in keys are padded for sorting. Longer numbers are compared digit by digit.
_DIGITS = 20


def merge(catalogue: Catalogue, walks: Iterable[Walk]) -> JobPlan:
    """Merge all walks, which have arrived, into one plan. If two want a job under different terms, the first one's
    terms apply."""
    jobs: dict[JobName, PlannedJob] = {}
    requests: list[tuple[int, JobName, RequestReason]] = []
    reruns: list[RerunRequest] = []
    for walk in walks:
        for job in walk.jobs():
            put(jobs, job)
        requests.extend(walk.requests())
        reruns.extend(walk.reruns())
    return JobPlan(jobs=in_order(catalogue, jobs.values()), requests=tuple(requests), reruns=tuple(reruns))


def joined_plans(catalogue: Catalogue, one: JobPlan, other: JobPlan) -> JobPlan:
    """Return the plan of both. If both have a job, the first one's terms apply."""
    jobs = {job.name: job for job in one.jobs}
    for job in other.jobs:
        put(jobs, job)
    return JobPlan(
        jobs=in_order(catalogue, jobs.values()),
        requests=(*one.requests, *other.requests),
        reruns=(*one.reruns, *other.reruns),
        rewired=one.rewired | other.rewired,
    )


class Push(Struct, frozen=True, eq=False):
    """Child that follows from the end of a parent, with the submissions that request pushing. It takes over the
    parent's terms.

    Pushes are compared by identity: two pushes of one child are distinct.
    """

    child: JobName
    submissions: tuple[int, ...]
    kwargs: Mapping[str, JSON]
    overrides: Mapping[str, JSON]


def may_be_pushed(catalogue: Catalogue, child: JobName) -> bool:
    """Return whether the end of a parent has the child planned. Jobs that read tables are planned only for submissions,
    because their plan may need any number of partitions."""
    return child.app not in catalogue or not catalogue[child.app].reads_tables


def follow(catalogue: Catalogue, push: Push) -> tuple[PlannedJob, ...]:
    """Return the child as it would be planned, and its parents. The parents are named but not requested, because
    pushing only goes downstream.

    BadRequest if the child is not in the definitions (any more), or if its filter raises.
    """
    name = push.child
    app = catalogue.app(name.app)
    keyspace = keyspace_of(app, catalogue)
    if not keyspace.passes(app, name.key):
        return (PlannedJob(name=name, standing=EntryState.SKIPPED),)
    gates = keyspace.gates(app, name.key)
    overrides, policy = terms_of(app, push.overrides)
    child = PlannedJob(
        name=name,
        standing=EntryState.WANTED,
        gates=gates,
        digest=app.digest,
        policy=policy,
        offset_s=policy.start_offset_s(name, str(push.submissions)),
        overrides=overrides,
        kwargs=push.kwargs,
        pool=pool_of(app, policy, name.key, push.kwargs),
        rate=rate_of(app, name.key, push.kwargs),
    )
    parents = (need.parent for gate in gates for need in gate.needs)
    return (child, *(PlannedJob(name=parent, standing=EntryState.EXPECTED) for parent in parents))


def merge_pushes(catalogue: Catalogue, pushes: Mapping[Push, tuple[PlannedJob, ...]]) -> JobPlan:
    """Merge pushes into one plan of children that no submission requested (bubble down). The first push that names a
    job sets its terms."""
    jobs: dict[JobName, PlannedJob] = {}
    for planned in pushes.values():
        for job in planned:
            put(jobs, job)
    requests = tuple(
        (number, push.child, RequestReason.PUSHED) for push in pushes for number in push.submissions
    )
    return JobPlan(jobs=in_order(catalogue, jobs.values()), requests=requests)


def in_order(catalogue: Catalogue, jobs: Iterable[PlannedJob]) -> tuple[PlannedJob, ...]:
    """Sort jobs so that parents come before children, in the same order in every process with these definitions.

    Jobs of one app are sorted by key as a reader would, with 2 before 10, because jobs that are inserted first count as
    older.
    """
    return tuple(
        sorted(jobs, key=lambda job: (catalogue.rank(job.name.app), job.name.app, *_as_read(job.name.key)))
    )


def _as_read(key: str) -> tuple[str, str]:
    """Return a sort key in which numbers are compared by value. Keys that are equal then are compared as text."""
    return _NUMBER.sub(lambda number: number[0].zfill(_DIGITS), key), key


def put(jobs: dict[JobName, PlannedJob], job: PlannedJob) -> None:
    """Add a job to the plan, or replace a weaker entry.

    A wanted job outranks an expected one, and a job that may run outranks a job that stays as it is. Otherwise the
    first entry sets the terms.
    """
    known = jobs.get(job.name)
    if known is None or _rank(known) < _rank(job):
        jobs[job.name] = job


def _rank(job: PlannedJob) -> tuple[bool, bool]:
    """Return the rank of an entry. Only a job that may run has gates or a digest, because only its needs have been
    determined."""
    return job.standing is not EntryState.EXPECTED, bool(job.gates) or job.digest is not None
