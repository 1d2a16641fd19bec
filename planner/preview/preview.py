"""Preview of a submission: its plan, without any change to the ledger."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from graphlib import TopologicalSorter

from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.model.dependency import DEAD_FOR, Gate, Need
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import EntryState, KnownJob, PlannedJob, RerunRequest
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import DEAD, TERMINAL, State
from sluice.planner.bubble_up.merge import in_order, put
from sluice.planner.bubble_up.walk import Walk, with_added
from sluice.planner.keyspaces.choose import keyspace_of
from sluice.planner.keyspaces.chunks.chunk_inputs import ChunkInputWalk
from sluice.planner.keyspaces.chunks.chunk_plan import Chunked
from sluice.planner.preview.forecast import Outlook

Lookup = Callable[[list[JobName]], Mapping[JobName, KnownJob]]

#: States of jobs that ended only because another job did.
_STRANDED = frozenset({State.UPSTREAM_FAILED, State.SKIPPED})
#: State of jobs that do not pass their filter. They would be skipped again.
_FILTERED = frozenset({State.SKIPPED})
#: A parent or child, and the states in which it runs again too.
_Neighbour = tuple[JobName, Collection[State]]


class Preview(Struct, frozen=True, kw_only=True):
    """Jobs that would be planned, in order.

    ``known`` contains the known jobs among them and among their parents. ``stale`` are the jobs that would run again
    because of their age. ``pushed`` are the children among the jobs that would run although no submission requested
    them. ``held`` are children that would be planned, each with a parent that it would wait for (``with_pushed``).
    """

    jobs: tuple[PlannedJob, ...]
    known: Mapping[JobName, KnownJob]
    outlook: Outlook
    stale: Collection[JobName] = ()
    pushed: Collection[JobName] = ()
    held: tuple[tuple[JobName, JobName], ...] = ()


def preview(catalogue: Catalogue, submission: Submission, lookup: Lookup, now: datetime) -> Preview:
    """Walk as the planner would, using the states that ``lookup`` returns. BadRequest if the planner would refuse."""
    return preview_of(catalogue, submission, lookup, [partial(Walk, catalogue, 0, submission, now)])


def preview_chunks(
    catalogue: Catalogue, submission: Submission, lookup: Lookup, now: datetime, found: Chunked
) -> Preview | None:
    """Return the preview of these chunks and of the jobs with keys that they need, or None if they need none."""
    if found.waits_for or not found.needs_keys:
        return None
    begin = partial(ChunkInputWalk, catalogue, 0, submission, now, chunks=found.jobs)
    return preview_of(catalogue, submission, lookup, [begin])


def preview_of(
    catalogue: Catalogue, submission: Submission, lookup: Lookup, begin: Sequence[Callable[[], Walk]]
) -> Preview:
    """Return the preview of the walks that the functions in ``begin`` begin.

    If an alternative would turn out to be lost, the planner walks again and requests the next alternative. So this
    function also walks again, until a walk predicts no further job that ends without running.
    """
    known: dict[JobName, KnownJob] = {}
    jobs: dict[JobName, PlannedJob] = {}
    again: set[JobName] = set()
    stale: set[JobName] = set()
    upstream_failed: dict[JobName, KnownJob] = {}
    while True:
        for begin_one in begin:
            walk = _walked(begin_one(), lookup, known, upstream_failed)
            planned = {job.name: job for job in walk.jobs()}
            for rerun in walk.reruns():
                again |= _taken_along(_Kin(catalogue, known, lookup), planned, rerun, submission)
                stale.update(rerun.stale)
            for job in planned.values():
                put(jobs, job)
        ordered = parents_first(catalogue, jobs)
        outlook = Outlook(ordered, {name: job.state for name, job in known.items()}, again=again)
        found = outlook.upstream_failed()
        if found.keys() <= upstream_failed.keys():
            return Preview(jobs=ordered, known=known, outlook=outlook, stale=stale)
        upstream_failed |= {name: KnownJob(0, *name, state) for name, state in found.items()}


def _walked(
    walk: Walk, lookup: Lookup, known: dict[JobName, KnownJob], upstream_failed: Mapping[JobName, KnownJob]
) -> Walk:
    """Run a walk to its end. The jobs that it looks up are added to ``known``; ``upstream_failed`` overrides their
    states.
    """
    while not walk.arrived:
        known.update(lookup(sorted(walk.asks() - known.keys())))
        walk.step({**known, **upstream_failed})
    return walk


def _taken_along(
    kin: "_Kin", planned: dict[JobName, PlannedJob], rerun: RerunRequest, submission: Submission
) -> set[JobName]:
    """Return the jobs that a rerun would revive. They and their parents are added to ``planned``."""
    rerun_jobs = kin.rerun_jobs(rerun.names, downstream=rerun.downstream)
    wanted = {name for name, job in planned.items() if job.standing is not EntryState.EXPECTED}
    for name in rerun_jobs - wanted:
        stale = planned[name].stale if name in planned else {}
        planned[name] = replace(kin.planned(name, submission), stale=stale)
    for name in kin.unknown_parents(planned.values()):
        planned[name] = PlannedJob(name=name, standing=EntryState.EXPECTED)
    return rerun_jobs


def parents_first(catalogue: Catalogue, jobs: Mapping[JobName, PlannedJob]) -> tuple[PlannedJob, ...]:
    """Sort jobs so that parents come first. The ranks of the apps determine this order, except if two-way functions
    relate the jobs: then their needs do."""
    ordered = in_order(catalogue, jobs.values())
    if not any(catalogue.has_bridges(app) for app in {job.name.app for job in ordered}):
        return ordered
    needs = {job.name: [need.parent for gate in job.gates for need in gate.needs] for job in ordered}
    return tuple(jobs[name] for name in TopologicalSorter(needs).static_order())


class _Kin:
    """Jobs that run again because another job does. The ledger uses the needs that it has stored; the preview uses the
    definitions."""

    def __init__(self, catalogue: Catalogue, known: dict[JobName, KnownJob], lookup: Lookup) -> None:
        self._catalogue = catalogue
        self._known = known
        self._lookup = lookup

    def rerun_jobs(self, names: Iterable[JobName], *, downstream: bool) -> set[JobName]:
        """Return these jobs, their dead ancestors, and the jobs that ended because of any of these. With
        ``downstream``, return all ended descendants instead of only the latter."""
        roots = self._closure(names, self._parents)
        revived = TERMINAL if downstream else _STRANDED
        return self._closure(roots, lambda name: ((child, revived) for child in self._children(name)))

    def planned(self, name: JobName, submission: Submission) -> PlannedJob:
        app = self._catalogue.app(name.app)
        return PlannedJob(
            name=name,
            standing=EntryState.WANTED,
            gates=self._gates(name),
            policy=app.policy,
            overrides=submission.policy,
            kwargs=submission.kwargs,
        )

    def unknown_parents(self, jobs: Collection[PlannedJob]) -> set[JobName]:
        """Return the parents that are named by the jobs and are not among them, and look up their states."""
        named = {need.parent for job in jobs for gate in job.gates for need in gate.needs}
        unknown = named - {job.name for job in jobs}
        self._look_up(unknown)
        return unknown

    def _closure(
        self, names: Iterable[JobName], neighbours: Callable[[JobName], Iterable[_Neighbour]]
    ) -> set[JobName]:
        """Return these jobs, and the neighbours of all of them that are in the states that concern them."""
        reached = set(names)
        ahead = reached
        while ahead:
            found = [each for name in ahead for each in neighbours(name) if each[0] not in reached]
            self._look_up({name for name, _ in found})
            ahead = {name for name, of in found if name in self._known and self._known[name].state in of}
            reached |= ahead
        return reached

    def _look_up(self, names: set[JobName]) -> None:
        self._known.update(self._lookup(sorted(names - self._known.keys())))

    def _parents(self, name: JobName) -> Iterator[_Neighbour]:
        """Yield the parents of a job, each with the states in which it must run again for the job."""
        for need in self._needs(name):
            parent = self._catalogue.app(need.parent.app)
            passes = keyspace_of(parent, self._catalogue).passes(parent, need.parent.key)
            yield need.parent, (DEAD & DEAD_FOR[need.when]) - (frozenset() if passes else _FILTERED)

    def _needs(self, name: JobName) -> Iterator[Need]:
        return (need for gate in self._gates(name) for need in gate.needs)

    def _gates(self, name: JobName) -> tuple[Gate, ...]:
        """Return the gates of a job, with the needs that do not come from its definition."""
        app = self._catalogue.app(name.app)
        added = self._known[name].added if name in self._known else ()
        return with_added(keyspace_of(app, self._catalogue).gates(app, name.key), added)

    def _children(self, name: JobName) -> Iterable[JobName]:
        app = self._catalogue.app(name.app)
        return keyspace_of(app, self._catalogue).children(app, name.key)
