"""Children that a submission would push: jobs that are planned when its jobs end, although no submission requested
them.

Every job that runs is taken to succeed. The rules are the same as for real ends (``planner.bubble_up.merge.follow``): a
child that has already ended is not run again, and its parents are named but not requested. So a child runs if a
dependency group is met in the end. Otherwise it is *held*: it is planned, and waits for a parent that no
submission has requested.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.work_ids import WorkId
from sluice.jobs.model.app import App
from sluice.jobs.model.dependency import MET, Need
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import EntryState, KnownJob, PlannedJob
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import LIVE, State
from sluice.planner.bubble_up.merge import Push, follow, may_be_pushed, put
from sluice.planner.keyspaces.choose import keyspace_of
from sluice.planner.keyspaces.chunks.chunk_plan import Chunked, ChunkKnowledge
from sluice.planner.keyspaces.chunks.chunk_readers import (
    WorkIdRelation,
    missing_work_ids,
)
from sluice.planner.preview.forecast import Forecast, Outlook
from sluice.planner.preview.preview import Lookup, Preview, parents_first, preview_chunks

#: States of jobs that run in any case, because they have been requested and wait for no parent.
_RUNNING_ANYWAY = LIVE - {State.EXPECTED, State.WAITING}


def with_pushed(
    catalogue: Catalogue, submission: Submission, found: Preview, lookup: Lookup, past: ChunkKnowledge
) -> Preview:
    """Return the preview with the children that the submission would push. If it pushes none, these are the children
    that wait already."""
    pushing = _Pushing(catalogue, submission, found, lookup, past)
    pushing.follow_all()
    return pushing.preview()


def chunks_with_pushed(
    catalogue: Catalogue, submission: Submission, found: Chunked, lookup: Lookup, past: ChunkKnowledge
) -> Preview | None:
    """Return the preview of these chunks, the jobs with keys that they need, and the jobs with keys that their ends
    push. None if there are no jobs with keys."""
    whole = preview_chunks(catalogue, submission, lookup, past.now, found)
    if found.waits_for or not any(catalogue.bridged_by(job.name.app) for job in found.jobs):
        return whole
    known = {name: KnownJob(0, *name, state) for name, state in found.known.items()}
    chunks = whole or Preview(jobs=found.jobs, known=known, outlook=Outlook(found.jobs, found.known))
    return with_pushed(catalogue, submission, chunks, lookup, past)


class _Pushing:
    """Ends of the jobs that run, and the children that follow from them, until no further child runs."""

    def __init__(
        self,
        catalogue: Catalogue,
        submission: Submission,
        found: Preview,
        lookup: Lookup,
        past: ChunkKnowledge,
    ) -> None:
        self._past = past
        self._relation = WorkIdRelation(catalogue)
        #: Work IDs of each child without results so far, by app.
        self._missing: dict[JobName, dict[str, set[WorkId]]] = {}
        self._work_ids = {job.name: job.work_ids for job in found.jobs if job.work_ids}
        self._catalogue = catalogue
        self._submission = submission
        self._found = found
        self._lookup = lookup
        self._known: dict[JobName, KnownJob] = {**found.known}
        self._requested = {
            job.name for job in found.jobs if found.outlook[job.name].fate is not Forecast.NAMED
        }
        self._ends = dict(self._ends_of_requested())
        self._planned: dict[JobName, PlannedJob] = {}
        #: Jobs that run because of this submission. Other jobs that end run in any case.
        self._own = {job.name for job in found.jobs if found.outlook[job.name].fate is Forecast.NEW}
        self._pushed: set[JobName] = set()

    def _ends_of_requested(self) -> Iterator[tuple[JobName, State]]:
        """Yield the jobs of the submission that will end, each with its final state."""
        stranded = self._found.outlook.upstream_failed()
        for job in self._found.jobs:
            fate = self._found.outlook[job.name].fate
            if fate in (Forecast.NEW, Forecast.UNDER_WAY):
                yield job.name, State.SUCCEEDED
            elif stranded.get(job.name) is State.UPSTREAM_FAILED:
                yield job.name, State.UPSTREAM_FAILED

    def follow_all(self) -> None:
        """Follow the ends of the submission's jobs, and then the ends of the pushed jobs."""
        ended = dict(self._ends)
        while ended:
            pushes = [
                (parent, child) for parent, end in ended.items() for child in self._children(parent, end)
            ]
            self._look_up(child for _, child in pushes)
            pushes = [each for each in pushes if self._is_pushed(*each)]
            children = [*dict.fromkeys(child for _, child in pushes)]
            self._plan(children)
            ended = self._follow(pushes)
            self._ends |= ended

    def _children(self, name: JobName, end: State) -> Iterator[JobName]:
        """Yield the children to plan. If a user's function fails for the children of one app, they are left out, as the
        planner does."""
        app = self._catalogue.app(name.app)
        if app.partitioning:
            return
        for of in self._catalogue.children_of(app.name):
            try:
                children = self._children_of(app, name, end, of)
                yield from (child for child in children if self._may_be_pushed(child))
            except BadRequest:
                continue

    def _children_of(self, app: App, name: JobName, end: State, of: str) -> Iterable[JobName]:
        if app.chunking is None:
            return keyspace_of(app, self._catalogue).children(app, name.key, end, of=of)
        work_ids = self._work_ids.get(name, ()) if end is State.SUCCEEDED else ()
        return self._relation.children(app, work_ids, of=of)

    def _may_be_pushed(self, child: JobName) -> bool:
        """Return whether the end of a parent has the child planned: it reads no tables, and all of its work IDs have
        results by then."""
        if not may_be_pushed(self._catalogue, child):
            return False
        if child not in self._missing:
            self._missing[child] = {
                app: missing_work_ids(
                    self._catalogue, app, {child: needed}, self._submission.kwargs, self._past
                )
                for app, needed in self._relation.needed(child).items()
            }
        return not any(
            missing.difference(*(self._work_ids[name] for name in self._succeeding(app)))
            for app, missing in self._missing[child].items()
        )

    def _succeeding(self, app: str) -> Iterator[JobName]:
        return (
            name for name in self._work_ids if name.app == app and self._ends.get(name) is State.SUCCEEDED
        )

    def _is_pushed(self, parent: JobName, child: JobName) -> bool:
        """Return whether the end of the parent concerns the child: it is pushed, or an earlier submission did that and
        it waits."""
        if self._submission.push == "all" or parent not in self._requested:
            return True
        known = self._known.get(child)
        return known is not None and known.state is State.WAITING

    def _plan(self, children: Sequence[JobName]) -> None:
        """Plan each child that is new or has not ended, and look up its parents."""
        kwargs, overrides = self._submission.kwargs, self._submission.policy
        for child in children:
            known = self._known.get(child)
            if child in self._requested or child in self._planned or (known and known.state not in LIVE):
                continue
            try:
                self._planned[child] = follow(self._catalogue, Push(child, (0,), kwargs, overrides))[0]
            except BadRequest:
                continue
        self._look_up(need.parent for child in children for need in self._needs(child))

    def _follow(self, pushes: Iterable[tuple[JobName, JobName]]) -> dict[JobName, State]:
        """Return the children that run now, with their final states."""
        ended: dict[JobName, State] = {}
        for parent, child in pushes:
            job = self._planned.get(child)
            if job is None or job.standing is EntryState.SKIPPED or child in self._ends:
                continue
            known = self._known.get(child)
            is_own = parent in self._own or child in self._own
            if known and known.state in _RUNNING_ANYWAY:
                ended[child] = State.SUCCEEDED
            elif self._may_start(job):
                ended[child] = State.SUCCEEDED
                if is_own or known is None or known.state is State.EXPECTED:
                    self._own.add(child)
                    self._pushed.add(child)
        return ended

    def _may_start(self, job: PlannedJob) -> bool:
        return not job.gates or any(all(map(self._is_met, gate.needs)) for gate in job.gates)

    def _is_met(self, need: Need) -> bool:
        known = self._known.get(need.parent)
        end = self._ends.get(need.parent) or (known.state if known else None)
        if end in _RUNNING_ANYWAY:
            end = State.SUCCEEDED
        return end in MET[need.when]

    def _needs(self, child: JobName) -> Iterator[Need]:
        job = self._planned.get(child)
        return (need for gate in (job.gates if job else ()) for need in gate.needs)

    def _look_up(self, names: Iterable[JobName]) -> None:
        unknown = {*names} - self._known.keys()
        self._known.update(self._lookup(sorted(unknown)) if unknown else {})

    def preview(self) -> Preview:
        """Return the preview of the requested jobs and of the pushed jobs that run."""
        jobs = {job.name: job for job in self._found.jobs}
        for name in self._pushed:
            jobs[name] = self._planned[name]
        for need in [need for name in self._pushed for need in self._needs(name)]:
            put(jobs, PlannedJob(name=need.parent, standing=EntryState.EXPECTED))
        ordered = parents_first(self._catalogue, jobs)
        states = {name: each.state for name, each in self._known.items() if name not in self._pushed}
        return replace(
            self._found,
            jobs=ordered,
            known=self._known,
            outlook=Outlook(ordered, states, again=self._found.outlook.again),
            pushed=frozenset(self._pushed),
            held=tuple(self._held()),
        )

    def _held(self) -> Iterator[tuple[JobName, JobName]]:
        for name, job in sorted(self._planned.items()):
            if name not in self._ends and job.standing is EntryState.WANTED:
                yield name, self._lacks(job)

    def _lacks(self, job: PlannedJob) -> JobName:
        """Return a parent that the held job waits for, in its first dependency group."""
        return next(need.parent for need in job.gates[0].needs if not self._is_met(need))
