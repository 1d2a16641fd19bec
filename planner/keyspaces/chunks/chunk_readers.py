"""Jobs with keys that need chunks.

A two-way function relates a job with a key to work IDs of an app that is keyed by chunk. The job needs results for
these work IDs. If the last success on a work ID is young enough, nothing has to run for it. The plan has chunks of the
other work IDs, and the job needs these chunks. In the ledger, such a need is marked as added, because the definition
alone does not determine it: a job that waits already keeps its chunks when it is requested again.

If another submission already works on these work IDs, the submission waits for that work and is planned again.

Pure: ``ChunkKnowledge`` provides the history.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.resolve.dependency_links import Bridge
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.work_ids import WorkId, in_order
from sluice.jobs.model.app import App
from sluice.jobs.model.dependency import Need
from sluice.jobs.model.freshness import Age, UnfinishedWork, is_fresh
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import EntryState, JobPlan, PlannedJob
from sluice.jobs.model.submission import JSON, Submission
from sluice.jobs.states import TERMINAL, State
from sluice.planner.bubble_up.walk import with_added
from sluice.planner.keyspaces.chunks.chunk_graph import nodes_of
from sluice.planner.keyspaces.chunks.chunk_inputs import PAIRS_MAX, WORK_ID, named_work_ids
from sluice.planner.keyspaces.chunks.chunk_plan import Chunked, ChunkKnowledge, chunk
from sluice.planner.keyspaces.template_keys import bridged_neighbours, neighbour_name


class NeededWorkIds(NamedTuple):
    """Work IDs of one app that a job with a key needs. With ``lag_s_max``, older results do not count."""

    work_ids: frozenset[WorkId]
    lag_s_max: float | None


class _Answer(NamedTuple):
    """Work IDs of one app that a two-way function names for a job."""

    bridge: Bridge
    parent: App
    work_ids: frozenset[WorkId]


class WorkIdRelation:
    """Relation between jobs with keys and the work IDs that they need. The parents of each job are determined once."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._answers: dict[JobName, list[_Answer]] = {}

    def needed(self, name: JobName) -> dict[str, NeededWorkIds]:
        """Return the work IDs that a job needs, by app. BadRequest if a two-way function fails."""
        needed: dict[str, NeededWorkIds] = {}
        for bridge, parent, work_ids in self._of(name):
            known = needed.get(parent.name, NeededWorkIds(frozenset(), None))
            lags_s = [lag for lag in (known.lag_s_max, bridge.lag_s_max) if lag is not None]
            needed[parent.name] = NeededWorkIds(known.work_ids | work_ids, min(lags_s, default=None))
        return needed

    def _of(self, name: JobName) -> list[_Answer]:
        if name not in self._answers:
            app = self._catalogue.app(name.app)
            names_work_ids = self._catalogue.names_work_ids(name.app)
            groups = self._catalogue.alternatives(name.app) if names_work_ids else ()
            self._answers[name] = [
                answer for group in groups for bridge in group.bridges for answer in _named(bridge, app, name)
            ]
        return self._answers[name]

    def children(self, app: App, work_ids: Iterable[WorkId], *, of: str | None = None) -> list[JobName]:
        """Return the jobs with keys that need any of these work IDs, in canonical order; with ``of`` the jobs of one
        app. BadRequest if a job does not name such a work ID as a parent."""
        found: set[JobName] = set()
        groups = [each for each in self._catalogue.bridged_by(app.name) if of in (None, each[0].child.name)]
        for work_id in work_ids:
            for group, bridge in groups:
                children = _children(bridge, group.child, app, work_id)
                self._require_parent(bridge, children, app, work_id)
                found |= children
        return sorted(found)

    def _require_parent(self, bridge: Bridge, names: Iterable[JobName], app: App, work_id: WorkId) -> None:
        for name in names:
            if not any(of is app and work_id in work_ids for _, of, work_ids in self._of(name)):
                raise bridge.function.refusal(
                    f"named the child {name}, but does not name this work ID as a parent of it",
                    app.name,
                    {WORK_ID: work_id},
                )

    def require_agreement(self) -> None:
        """Raise BadRequest if the jobs so far name too many work IDs, or if a work ID does not name a job as a child
        that names it as a parent. A function without ``children`` cannot contradict itself."""
        answers = [(name, *answer) for name, of in self._answers.items() for answer in of]
        if sum(len(work_ids) for *_, work_ids in answers) > PAIRS_MAX:
            raise BadRequest(
                f"The jobs name more than {PAIRS_MAX:,} work IDs in all; one submission may name that many.",
                advice="Submit fewer jobs at once.",
            )
        known: dict[tuple[int, str, WorkId], set[JobName]] = {}
        for name, bridge, parent, work_ids in answers:
            if bridge.function.children is not None:
                self._require_child(name, bridge, parent, work_ids, known)

    def _require_child(
        self,
        name: JobName,
        bridge: Bridge,
        parent: App,
        work_ids: Iterable[WorkId],
        known: dict[tuple[int, str, WorkId], set[JobName]],
    ) -> None:
        """Raise BadRequest if a work ID does not name the job. ``known`` has the children of work IDs, by function."""
        child = self._catalogue[name.app]
        for work_id in work_ids:
            place = id(bridge), parent.name, work_id
            if place not in known:
                known[place] = _children(bridge, child, parent, work_id)
            if name not in known[place]:
                raise bridge.function.refusal(
                    f"did not name {name}, which named this work ID as a parent",
                    parent.name,
                    {WORK_ID: work_id},
                )


def _named(bridge: Bridge, app: App, name: JobName) -> Iterator[_Answer]:
    """Yield the work IDs that the function names for a job, by app."""
    ids = app.read_key(name.key)
    named = [*bridged_neighbours(bridge, app, ids)]
    for parent in bridge.parents.values():
        if parent.chunking is None:
            continue
        try:
            found = named_work_ids(neighbour for of, neighbour in named if of is parent)
        except Exception as error:  # Reading an object of the user's may raise anything.
            raise bridge.function.refusal(
                f"named parents that cannot be used: {error}", app.name, ids
            ) from error
        if found:
            yield _Answer(bridge, parent, frozenset(found))


def _children(bridge: Bridge, child: App, parent: App, work_id: WorkId) -> set[JobName]:
    ids = {WORK_ID: work_id}
    return {
        neighbour_name(bridge, child, neighbour, parent.name, ids)
        for neighbour in bridge.function.children_of(parent.name, ids)
        if neighbour.app == child.name
    }


def missing_work_ids(
    catalogue: Catalogue,
    app: str,
    needed: Mapping[JobName, NeededWorkIds],
    kwargs: Mapping[str, JSON],
    known: ChunkKnowledge,
) -> set[WorkId]:
    """Return the work IDs of an app without results that are young enough for each of these jobs that needs them.
    BadRequest if the kwargs do not fit the app."""
    (node,) = nodes_of(catalogue, Submission(app=app, kwargs=kwargs, after=()))
    ids = sorted({*chain.from_iterable(each.work_ids for each in needed.values())}, key=in_order)
    ages = dict(zip(ids, known.ages(app, node.freshness_scope, [[work_id] for work_id in ids]), strict=True))
    return {
        work_id
        for each in needed.values()
        for work_id in each.work_ids
        if not _is_fresh(ages[work_id], each.lag_s_max, known.now)
    }


def _is_fresh(age: Age, lag_s_max: float | None, now: datetime) -> bool:
    if age.missing or age.oldest is None:
        return False
    return lag_s_max is None or is_fresh(age.oldest, lag_s_max, now)


class KeyedWithChunks(NamedTuple):
    """Plan of jobs with keys, with the needs for chunks.

    ``chunked`` are the chunks that the plan must have too. If ``waits_for`` is not empty, the submission must be
    planned again once that work has ended.
    """

    keyed: JobPlan
    chunked: tuple[Chunked, ...]
    waits_for: tuple[UnfinishedWork, ...]


def with_chunks(
    catalogue: Catalogue, submission: Submission, keyed: JobPlan, known: ChunkKnowledge, *, number: int
) -> KeyedWithChunks:
    """Return a submission's plan of jobs with keys with the needs for chunks, and these chunks. ``number`` is the
    submission's; 0 for a preview. BadRequest if it cannot be carried out."""
    plans = _ChunkPlans(catalogue, submission, known, number)
    relation = WorkIdRelation(catalogue)
    needed = {name: relation.needed(name) for name in _undecided(catalogue, keyed, known)}
    relation.require_agreement()
    for app in sorted({*chain.from_iterable(needed.values())}):
        plans.add(app, {name: each[app] for name, each in needed.items() if app in each})
    return KeyedWithChunks(
        replace(
            keyed,
            jobs=tuple(map(plans.with_needs, keyed.jobs)),
            rewired=keyed.rewired | needed.keys(),
        ),
        tuple(plans.chunked),
        tuple(chain.from_iterable(each.waits_for for each in plans.chunked)),
    )


def _undecided(catalogue: Catalogue, keyed: JobPlan, known: ChunkKnowledge) -> Iterator[JobName]:
    """Yield the jobs with needs for work IDs that this plan decides. Jobs that wait for chunks already keep them, and
    so do jobs that have begun."""
    names = [
        job.name
        for job in keyed.jobs
        if job.standing is EntryState.WANTED
        and job.digest is not None
        and catalogue.names_work_ids(job.name.app)
    ]
    found = known.look_up(names) if names else {}
    for name in names:
        job = found.get(name)
        if (
            job is None
            or job.state in TERMINAL
            or job.state is State.EXPECTED
            or (job.state is State.WAITING and not any(map(catalogue.is_for_chunk, job.added)))
        ):
            yield name


class _ChunkPlans:
    """Chunks that one plan of jobs with keys needs, and these needs."""

    def __init__(
        self, catalogue: Catalogue, submission: Submission, known: ChunkKnowledge, number: int
    ) -> None:
        self._catalogue = catalogue
        self._submission = submission
        self._known = known
        self._number = number
        self._counted: Counter[str] = Counter()
        self._needs: dict[JobName, set[Need]] = {}
        self.chunked: list[Chunked] = []

    def add(self, app: str, needed: Mapping[JobName, NeededWorkIds]) -> None:
        """Plan chunks of an app for the work IDs that these jobs lack."""
        missing = missing_work_ids(self._catalogue, app, needed, self._submission.kwargs, self._known)
        if not missing:
            return
        found = self._chunked(app, missing)
        self.chunked.append(found)
        having = {id: job.name for job in found.jobs if job.name.app == app for id in job.work_ids or ()}
        for name, each in needed.items():
            needs = {Need(having[id], added=True) for id in each.work_ids & having.keys()}
            self._needs.setdefault(name, set()).update(needs)

    def _chunked(self, app: str, ids: Iterable[WorkId]) -> Chunked:
        """Return the chunks of these work IDs. If an earlier plan of the submission has chunks with the same names, the
        nodes are counted on, so that the names differ."""
        submission, in_a_row = replace(self._submission, app=app), sorted(ids, key=in_order)
        while True:
            found = chunk(
                self._catalogue,
                submission,
                in_a_row,
                self._known,
                number=self._number,
                pulled=self._counted,
            )
            if not self._known.look_up([job.name for job in found.jobs]):
                return found

    def with_needs(self, job: PlannedJob) -> PlannedJob:
        """Return the job with its needs for chunks."""
        added = tuple(sorted(self._needs.get(job.name, ()), key=lambda need: need.parent))
        return replace(job, gates=with_added(job.gates, added)) if added else job


def chunk_apps_of(catalogue: Catalogue, name: str) -> set[str]:
    """Return every app keyed by chunk of which a plan for jobs with keys of this app may have chunks."""
    reached: set[str] = set()
    ahead = [name]
    while ahead:
        if (app := ahead.pop()) not in reached and app in catalogue:
            reached.add(app)
            ahead += catalogue[app].parent_apps
    return {app for app in reached if catalogue[app].chunking}
