"""Keys by chunk: what a submission about work IDs comes to.

From the app that was asked for downwards: all of its chunks run; of an app that it needs, a chunk runs if one that
runs has work IDs in common with it and its results are not fresh enough for that one. What is fresh is not
looked behind. In the end each chunk that runs waits for those of the apps it needs that run too and have an ID in
common with it, whoever they run for.

Pure: ``Knowledge`` says what has happened so far.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.chunking import Dependency
from sluice.jobs.errors import BadRequest
from sluice.jobs.freshness import Age, Busy, is_fresh
from sluice.jobs.gate import Gate, Need
from sluice.jobs.known import Known
from sluice.jobs.plan import Plan, PlannedJob, Standing, Wish
from sluice.jobs.pooling import pool_of
from sluice.jobs.ref import JobName
from sluice.jobs.states import State
from sluice.jobs.submission import JSON, Submission
from sluice.jobs.work_ids import WorkId, short_text_of
from sluice.planner.chunk_nodes import Node, nodes_of
from sluice.planner.cuts import Cut, cuts, positions, touching
from sluice.planner.fitting import Terms, require_fit, terms_of
from sluice.planner.walk import JOBS_MAX


class Knowledge(Protocol):
    """What a plan needs to know of the past and the present."""

    @property
    def now(self) -> datetime: ...

    def ages(self, app: str, mark: str, chunks: Sequence[Sequence[WorkId]]) -> Sequence[Age]:
        """For each chunk, how old the app's results on its IDs are."""
        ...

    def last_run(self, app: str, mark: str) -> datetime | None:
        """When a submission that asked for this app as a whole last succeeded."""
        ...

    def look_up(self, names: Collection[JobName]) -> Mapping[JobName, Known]:
        """Those of the jobs that there are."""
        ...

    def busy(self, apps: Collection[str]) -> Iterable[Busy]:
        """What is queued or running of these apps."""
        ...


class Fresh(Struct, frozen=True, kw_only=True):
    """A chunk that need not run. ``at`` is when its app last succeeded on the ID where that is longest ago, or, for
    ``any_ids``, as a whole."""

    app: str
    work_ids: tuple[WorkId, ...]
    at: datetime
    lag_s_max: float
    any_ids: bool


class Chunked(Struct, frozen=True, kw_only=True):
    """``jobs`` stand after those that they need; ``known`` are those that the submission itself says it needs. Where it
    ``waits_for`` anything it is to be planned anew once that has ended, and what stands here is what it would come
    to now.
    """

    jobs: tuple[PlannedJob, ...]
    asked: frozenset[JobName]
    fresh: tuple[Fresh, ...]
    ages: Mapping[JobName, Age]
    known: Mapping[JobName, State]
    waits_for: tuple[Busy, ...]

    def plan(self, number: int) -> Plan:
        """For the submission of this number."""
        wants = (
            (number, job.name, Wish.ASKED if job.name in self.asked else Wish.PULLED)
            for job in self.jobs
            if job.name not in self.known
        )
        return Plan(jobs=self.jobs, wants=tuple(wants))


def chunk(
    catalogue: Catalogue,
    submission: Submission,
    ids: Sequence[WorkId],
    kwargs: Mapping[str, JSON],
    known: Knowledge,
    *,
    number: int = 0,
) -> Chunked:
    """What it comes to for these IDs, which are sorted. ``number`` is the submission's, 0 for one that is only looked
    at. BadRequest: it cannot be carried out."""
    nodes = nodes_of(catalogue, submission, kwargs)
    after = _after(submission.after or (), known)
    run = _Chunks(nodes, ids, known)
    if (total := sum(len(each) for each in run.needed)) > JOBS_MAX:
        raise BadRequest(f"It comes to {total:,} jobs; one submission may come to {JOBS_MAX:,}.")
    require_fit(nodes[0].app, submission.policy)
    terms = {node.app.name: terms_of(node.app, submission.policy) for node in nodes}
    shared = _Shared(ids, terms, number)
    named = [
        {cut: _name(node, ids[slice(*cut)], number) for cut in run.needed[place]}
        for place, node in enumerate(nodes)
    ]
    jobs = [PlannedJob(name=name, standing=Standing.EXPECTED) for name in after]
    for place in reversed(range(len(nodes))):
        needs = run.needs(place, named)
        if after:
            needs = {cut: [Need(name) for name in after] for cut in named[place]}
        jobs += _jobs(nodes[place], named[place], needs, shared)
    return Chunked(
        jobs=tuple(jobs),
        asked=frozenset(named[0].values()),
        fresh=tuple(run.fresh),
        ages={named[place][cut]: age for (place, cut), age in run.ages.items()},
        known=after,
        waits_for=tuple(run.waits_for()),
    )


def _after(names: Collection[JobName], known: Knowledge) -> dict[JobName, State]:
    """The jobs that are waited for by name, each in its state; BadRequest where one is not there."""
    found = known.look_up(names) if names else {}
    if missing := [str(name) for name in dict.fromkeys(names) if name not in found]:
        raise BadRequest(
            f"It is to wait for {', '.join(missing)}, which there is not.",
            advice="`sluice ls` lists what there is.",
        )
    return {name: found[name].state for name in sorted(set(names))}


class _Chunks:
    """Which chunks of which node run."""

    def __init__(self, nodes: Sequence[Node], ids: Sequence[WorkId], known: Knowledge) -> None:
        self._nodes = nodes
        self._ids = ids
        self._known = known
        self.fresh: list[Fresh] = []
        self.ages: dict[tuple[int, Cut], Age] = {}
        longest = max(node.chunking.size for node in nodes)
        self.needed: list[list[Cut]] = []
        reached: list[dict[Cut, list[Dependency]]] = [{} for _ in nodes]
        for place, node in enumerate(nodes):
            whole = cuts(len(ids), node.chunking.size, longest)
            self.needed.append(self._stale(place, reached[place], whole) if place else whole)
            for edge in node.edges:
                parents = cuts(len(ids), nodes[edge.parent].chunking.size, longest)
                for cut, _ in touching(parents, self.needed[place]):
                    wanting = reached[edge.parent].setdefault(cut, [])
                    if edge.dependency not in wanting[-1:]:
                        wanting.append(edge.dependency)

    def needs(self, place: int, named: Sequence[Mapping[Cut, JobName]]) -> dict[Cut, list[Need]]:
        """Of each chunk of a node that runs, the chunks it waits for."""
        needs: dict[Cut, list[Need]] = {}
        for edge in self._nodes[place].edges:
            for cut, parent in touching(self.needed[place], self.needed[edge.parent]):
                needs.setdefault(cut, []).append(Need(named[edge.parent][parent]))
        return needs

    def waits_for(self) -> Iterator[Busy]:
        """What others have under way of what would run here too. Whoever asks for an app by name wants it run."""
        places = [place for place in range(1, len(self._nodes)) if self.needed[place]]
        for busy in self._known.busy({self._nodes[place].app.name for place in places}):
            if any(self._is_same(busy, place) for place in places):
                yield busy

    def _is_same(self, busy: Busy, place: int) -> bool:
        node = self._nodes[place]
        if busy.app != node.app.name or busy.mark not in (None, node.mark):
            return False
        if busy.parts is None:
            return True
        found = sorted(cut for part in busy.parts if (cut := positions(self._ids, part))[0] < cut[1])
        return any(touching(found, self.needed[place]))

    def _stale(self, place: int, reached: Mapping[Cut, Sequence[Dependency]], whole: list[Cut]) -> list[Cut]:
        """Of the chunks of a node that somebody reaches, in order, those that are not fresh enough for everybody."""
        node = self._nodes[place]
        candidates = [cut for cut in whole if cut in reached]
        pieces = [self._ids[slice(*cut)] for cut in candidates]
        ages = self._known.ages(node.app.name, node.mark, pieces) if pieces else []
        ran = self._last_run(node, reached.values())
        needed = []
        for cut, age in zip(candidates, ages, strict=True):
            fresh = [self._fresh(node, cut, dependency, age, ran) for dependency in reached[cut]]
            if all(fresh):
                self.fresh.extend(each for each in fresh[:1] if each)
            else:
                needed.append(cut)
                self.ages[place, cut] = age
        return needed

    def _last_run(self, node: Node, reached: Iterable[Sequence[Dependency]]) -> datetime | None:
        anyhow = any(dependency.any_ids for wanting in reached for dependency in wanting)
        return self._known.last_run(node.app.name, node.mark) if anyhow else None

    def _fresh(
        self, node: Node, cut: Cut, dependency: Dependency, age: Age, ran: datetime | None
    ) -> Fresh | None:
        """Just as old as is allowed is fresh; of what may not be old at all nothing is."""
        oldest = None if age.missing else age.oldest
        for at, any_ids in ((ran if dependency.any_ids else None, True), (oldest, False)):
            if at and is_fresh(at, dependency.lag_s_max, self._known.now):
                return Fresh(
                    app=node.app.name,
                    work_ids=tuple(self._ids[slice(*cut)]),
                    at=at,
                    lag_s_max=dependency.lag_s_max,
                    any_ids=any_ids,
                )
        return None


class _Shared(NamedTuple):
    """What all jobs have in common, and the terms of each app."""

    ids: Sequence[WorkId]
    of_app: Mapping[str, Terms]
    number: int


def _jobs(
    node: Node, named: Mapping[Cut, JobName], needs: Mapping[Cut, Sequence[Need]], shared: _Shared
) -> Iterator[PlannedJob]:
    overrides, policy = shared.of_app[node.app.name]
    for cut, name in named.items():
        waits_for = needs.get(cut)
        yield PlannedJob(
            name=name,
            standing=Standing.WANTED,
            gates=(Gate("default", tuple(waits_for)),) if waits_for else (),
            policy=policy,
            offset_s=policy.start_offset_s(name, str(shared.number)),
            overrides=overrides,
            kwargs=node.kwargs,
            work_ids=tuple(shared.ids[slice(*cut)]),
            mark=node.mark,
            pool=pool_of(node.app, policy, name.key, node.kwargs),
        )


def _name(node: Node, ids: Sequence[WorkId], number: int) -> JobName:
    """Each submission has chunks of its own; of one app, a chunk may be there several times, under different kwargs."""
    whose = f"@{number}" if number else ""
    which = f".{node.number}" if node.number > 1 else ""
    return JobName(node.app.name, f"{short_text_of(ids)}{whose}{which}")
