"""What a submission would come to, without doing it."""

from collections.abc import Callable, Collection, Iterable, Mapping
from graphlib import TopologicalSorter

from msgspec import Struct

from jobs.catalogue import Catalogue
from jobs.plan import PlannedJob, Standing
from jobs.ref import JobName
from jobs.states import DEAD, TERMINAL, State
from jobs.submission import Submission
from planner.keyspaces import keyspace_of
from planner.merge import in_order
from planner.outlook import Outlook
from planner.walk import Walk

Lookup = Callable[[list[JobName]], Mapping[JobName, State]]

#: What ended only because something else had.
_STRANDED = frozenset({State.UPSTREAM_FAILED, State.SKIPPED})


class Preview(Struct, frozen=True, kw_only=True):
    """``jobs`` would be planned, in order; ``states`` holds what was known of them and of their parents."""

    jobs: tuple[PlannedJob, ...]
    states: Mapping[JobName, State]
    outlook: Outlook


def preview(catalogue: Catalogue, submission: Submission, lookup: Lookup) -> Preview:
    """Walk as the planner would, on what ``lookup`` says. BadRequest where the planner would refuse.

    Where an alternative would turn out to be lost, the planner walks again and asks for the next, so
    this does too, until no walk strands anything that the one before did not.
    """
    states: dict[JobName, State] = {}
    jobs: dict[JobName, PlannedJob] = {}
    stranded: dict[JobName, State] = {}
    while True:
        for name, job in _walked(catalogue, submission, lookup, states, stranded).items():
            if name not in jobs or jobs[name].standing is Standing.EXPECTED:
                jobs[name] = job
        ordered = _parents_first(catalogue, jobs)
        outlook = Outlook(ordered, states, again=submission.rerun is not None)
        if outlook.stranded().keys() <= stranded.keys():
            return Preview(jobs=ordered, states=states, outlook=outlook)
        stranded.update(outlook.stranded())


def _walked(
    catalogue: Catalogue,
    submission: Submission,
    lookup: Lookup,
    states: dict[JobName, State],
    stranded: Mapping[JobName, State],
) -> dict[JobName, PlannedJob]:
    """One walk's jobs, and who would run again with them; what is looked up on the way goes into ``states``."""
    walk = Walk(catalogue, 0, submission)
    while not walk.arrived:
        states.update(lookup(sorted(walk.asks() - states.keys())))
        walk.step({**states, **stranded})
    jobs = {job.name: job for job in walk.jobs()}
    if again := walk.rerun():
        kin = _Kin(catalogue, states, lookup)
        wanted = {name for name, job in jobs.items() if job.standing is not Standing.EXPECTED}
        for name in kin.revived(again.names, downstream=again.downstream) - wanted:
            jobs[name] = kin.planned(name, submission)
        for name in kin.unknown_parents(jobs.values()):
            jobs[name] = PlannedJob(name=name, standing=Standing.EXPECTED)
    return jobs


def _parents_first(catalogue: Catalogue, jobs: Mapping[JobName, PlannedJob]) -> tuple[PlannedJob, ...]:
    """By the ranks of their apps, which say nothing of two that a function put in one order or another."""
    ordered = in_order(catalogue, jobs.values())
    if not any(catalogue.has_bridges(app) for app in {job.name.app for job in ordered}):
        return ordered
    needs = {job.name: [need.parent for gate in job.gates for need in gate.needs] for job in ordered}
    return tuple(jobs[name] for name in TopologicalSorter(needs).static_order())


class _Kin:
    """Who would run again because something else does: the ledger goes by the needs it has, this by the definitions."""

    def __init__(self, catalogue: Catalogue, states: dict[JobName, State], lookup: Lookup) -> None:
        self._catalogue = catalogue
        self._states = states
        self._lookup = lookup

    def revived(self, names: Iterable[JobName], *, downstream: bool) -> set[JobName]:
        """These, their dead ancestors, and whoever ended because of any; or all descendants that have ended."""
        roots = self._closure(names, self._parents, DEAD)
        return self._closure(roots, self._children, TERMINAL if downstream else _STRANDED)

    def planned(self, name: JobName, submission: Submission) -> PlannedJob:
        app = self._catalogue.app(name.app)
        return PlannedJob(
            name=name,
            standing=Standing.WANTED,
            gates=keyspace_of(app, self._catalogue).gates(app, name.key),
            policy=app.policy,
            overrides=submission.policy,
            kwargs=submission.kwargs,
        )

    def unknown_parents(self, jobs: Collection[PlannedJob]) -> set[JobName]:
        """Those that the jobs name and that are not among them; from now on their states are known."""
        named = {need.parent for job in jobs for gate in job.gates for need in gate.needs}
        unknown = named - {job.name for job in jobs}
        self._look_up(unknown)
        return unknown

    def _closure(
        self,
        names: Iterable[JobName],
        neighbours: Callable[[JobName], Iterable[JobName]],
        of: Collection[State],
    ) -> set[JobName]:
        reached = set(names)
        ahead = reached
        while ahead:
            found = {each for name in ahead for each in neighbours(name)} - reached
            self._look_up(found)
            ahead = {name for name in found if self._states.get(name) in of}
            reached |= ahead
        return reached

    def _look_up(self, names: set[JobName]) -> None:
        self._states.update(self._lookup(sorted(names - self._states.keys())))

    def _parents(self, name: JobName) -> Iterable[JobName]:
        app = self._catalogue.app(name.app)
        gates = keyspace_of(app, self._catalogue).gates(app, name.key)
        return (need.parent for gate in gates for need in gate.needs)

    def _children(self, name: JobName) -> Iterable[JobName]:
        app = self._catalogue.app(name.app)
        return keyspace_of(app, self._catalogue).children(app, name.key)
