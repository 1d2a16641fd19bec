"""Plans for submissions about work IDs, and the cuts of their lists into chunks.

Planning starts at the requested app and goes upstream (``chunk``). All chunks of the requested app are planned. A chunk
of a needed app is planned under two conditions. A planned chunk shares work IDs with it. Its results are not fresh
enough for that planned chunk. The inputs of fresh chunks are not examined.

In the end, each planned chunk waits for the planned chunks of the apps it needs, if they share an ID with it. It does
not matter which chunk caused them to run. It also waits for the jobs with keys that its work IDs need (see
``chunk_inputs``).

A cut (``cuts``) is a piece of the sorted list, given by its first position and the position after its last. The list is
divided into stretches as long as the longest chunk of any app, and each app cuts every stretch by its own size. So no
chunk reaches into two stretches, and each stretch is a graph by itself.

Pure: ``ChunkKnowledge`` provides the history.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.chunks import Dependency
from sluice.jobs.keys.work_ids import Part, WorkId, in_order, short_text_of
from sluice.jobs.model.dependency import Gate, Need
from sluice.jobs.model.freshness import Age, UnfinishedWork, is_fresh
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import EntryState, JobPlan, KnownJob, PlannedJob, RequestReason
from sluice.jobs.model.pool import pool_of, rate_of
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.planner.bubble_up.walk import JOBS_MAX, JobTerms, require_fit, terms_of
from sluice.planner.keyspaces.chunks.chunk_graph import AppNode, nodes_of
from sluice.planner.keyspaces.chunks.chunk_inputs import Cut, KeyedNeeds


def cuts(length: int, size: int, longest: int) -> list[Cut]:
    """Return pieces of this size. The last piece of a stretch may be shorter."""
    return [
        (start, min(start + size, stretch + longest, length))
        for stretch in range(0, length, longest)
        for start in range(stretch, min(stretch + longest, length), size)
    ]


def touching(these: Sequence[Cut], those: Sequence[Cut]) -> Iterator[tuple[Cut, Cut]]:
    """Yield the pairs of cuts that share a position. Both lists are sorted, and the cuts of one list do not overlap."""
    begin = 0
    for this in these:
        while begin < len(those) and those[begin][1] <= this[0]:
            begin += 1
        at = begin
        while at < len(those) and those[at][0] < this[1]:
            yield this, those[at]
            at += 1


def positions(ids: Sequence[WorkId], part: Part) -> Cut:
    """Return the positions in the sorted list at which the IDs of a part are; empty if it has none of them."""
    first, last = (part, part) if isinstance(part, str) else (part[0], part[-1])
    return (
        bisect_left(ids, in_order(first), key=in_order),
        bisect_right(ids, in_order(last), key=in_order),
    )


class ChunkKnowledge(Protocol):
    """Past and present runs, as far as a plan needs them."""

    @property
    def now(self) -> datetime: ...

    def ages(self, app: str, freshness_scope: str, chunks: Sequence[Sequence[WorkId]]) -> Sequence[Age]:
        """Return, for each chunk, the age of the app's results on its IDs."""
        ...

    def last_run(self, app: str, freshness_scope: str) -> datetime | None:
        """Return when a submission that requested this app as a whole last succeeded."""
        ...

    def look_up(self, names: Collection[JobName]) -> Mapping[JobName, KnownJob]:
        """Return the existing jobs among these."""
        ...

    def busy(self, apps: Collection[str]) -> Iterable[UnfinishedWork]:
        """Return the queued and running work of these apps."""
        ...


class Fresh(Struct, frozen=True, kw_only=True):
    """Chunk that need not run. ``at`` is the oldest of the app's last successes on its IDs; with ``any_ids``, the last
    success of the app as a whole."""

    app: str
    work_ids: tuple[WorkId, ...]
    at: datetime
    lag_s_max: float
    any_ids: bool


class Chunked(Struct, frozen=True, kw_only=True):
    """Result of planning a submission for work IDs.

    ``jobs`` come after the jobs that they need. ``known`` are the dependencies that the submission names itself
    (``after``), with their states. If ``waits_for`` is not empty, the submission must be planned again once that work
    has ended; the other fields are then the result as of now. With ``needs_keys`` some jobs need jobs with keys, which
    a ``ChunkInputWalk`` adds to the plan.
    """

    jobs: tuple[PlannedJob, ...]
    asked: frozenset[JobName]
    fresh: tuple[Fresh, ...]
    ages: Mapping[JobName, Age]
    known: Mapping[JobName, State]
    waits_for: tuple[UnfinishedWork, ...]
    needs_keys: bool

    def plan(self, number: int) -> JobPlan:
        """Return the plan for the submission of this number."""
        requests = (
            (number, job.name, RequestReason.ASKED if job.name in self.asked else RequestReason.PULLED)
            for job in self.jobs
            if job.name not in self.known
        )
        return JobPlan(jobs=self.jobs, requests=tuple(requests))


def chunk(
    catalogue: Catalogue,
    submission: Submission,
    ids: Sequence[WorkId],
    known: ChunkKnowledge,
    *,
    number: int = 0,
    pulled: Counter[str] | None = None,
) -> Chunked:
    """Plan a submission for these sorted work IDs. ``number`` is the submission's; 0 for a preview. BadRequest if it
    cannot be carried out.

    ``pulled`` is set if jobs with keys need the chunks, so that no submission names their app. It counts the nodes that
    the same plan has already, by app (``nodes_of``).
    """
    nodes = nodes_of(catalogue, submission, pulled)
    after = _after(submission.after or (), known)
    run = _Chunks(nodes, ids, known, is_pulled=pulled is not None)
    if pulled is None:
        require_fit(nodes[0].app, submission.policy)
    terms = {node.app.name: terms_of(node.app, submission.policy) for node in nodes}
    shared = _Shared(ids, terms, number)
    named = run.names(number)
    jobs = [PlannedJob(name=name, standing=EntryState.EXPECTED) for name in after]
    keyed = KeyedNeeds(catalogue)
    for place in reversed(range(len(nodes))):
        if after:
            needs = {cut: [Need(name) for name in after] for cut in named[place]}
        else:
            needs = run.needs(place, named, keyed)
        jobs += _jobs(nodes[place], named[place], needs, shared)
    return Chunked(
        jobs=tuple(jobs),
        asked=frozenset(named[0].values() if pulled is None else ()),
        fresh=tuple(run.fresh),
        ages=run.ages_of(named),
        known=after,
        waits_for=run.waits_for,
        needs_keys=keyed.is_any,
    )


def _after(names: Collection[JobName], known: ChunkKnowledge) -> dict[JobName, State]:
    """Return the jobs that the submission names to wait for, with their states; BadRequest if one is missing."""
    found = known.look_up(names) if names else {}
    if missing := [str(name) for name in dict.fromkeys(names) if name not in found]:
        raise BadRequest(
            f"The submission must wait for {', '.join(missing)}, which the ledger does not have.",
            advice="`sluice ls` lists the existing jobs.",
        )
    return {name: found[name].state for name in sorted(set(names))}


class _Chunks:
    """Planned chunks, by node."""

    def __init__(
        self, nodes: Sequence[AppNode], ids: Sequence[WorkId], known: ChunkKnowledge, *, is_pulled: bool
    ) -> None:
        self._nodes = nodes
        self._is_pulled = is_pulled
        self._ids = ids
        self._known = known
        self.fresh: list[Fresh] = []
        self._ages: dict[tuple[int, Cut], Age] = {}
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
        if (total := sum(len(each) for each in self.needed)) > JOBS_MAX:
            raise BadRequest(
                f"The submission results in {total:,} jobs; one submission may have {JOBS_MAX:,}."
            )
        self.waits_for = tuple(self._waits_for())

    def names(self, number: int) -> list[dict[Cut, JobName]]:
        """Return the names of the planned chunks of each node."""
        return [
            {cut: _name(node, self._ids[slice(*cut)], number) for cut in self.needed[place]}
            for place, node in enumerate(self._nodes)
        ]

    def ages_of(self, named: Sequence[Mapping[Cut, JobName]]) -> dict[JobName, Age]:
        """Return the ages of the results of stale chunks, by their names."""
        return {named[place][cut]: age for (place, cut), age in self._ages.items()}

    def needs(
        self, place: int, named: Sequence[Mapping[Cut, JobName]], keyed: KeyedNeeds
    ) -> dict[Cut, list[Need]]:
        """Return, for each planned chunk of a node, the chunks and the jobs with keys that it waits for. If the
        submission waits to be planned, the latter are left out, so that users' functions are not called for nothing.
        """
        needs: dict[Cut, list[Need]] = {}
        for edge in self._nodes[place].edges:
            for cut, parent in touching(self.needed[place], self.needed[edge.parent]):
                needs.setdefault(cut, []).append(Need(named[edge.parent][parent]))
        called_for = () if self.waits_for else self.needed[place]
        for cut, found in keyed.of(self._nodes[place].app, self._ids, called_for).items():
            needs.setdefault(cut, []).extend(found)
        return needs

    def _waits_for(self) -> Iterator[UnfinishedWork]:
        """Yield work of other submissions that covers chunks planned here. An app that the submission names is left
        out, because the submission wants it to run."""
        first = 0 if self._is_pulled else 1
        places = [place for place in range(first, len(self._nodes)) if self.needed[place]]
        for busy in self._known.busy({self._nodes[place].app.name for place in places}):
            if any(self._is_same(busy, place) for place in places):
                yield busy

    def _is_same(self, busy: UnfinishedWork, place: int) -> bool:
        node = self._nodes[place]
        if busy.app != node.app.name or busy.freshness_scope not in (None, node.freshness_scope):
            return False
        if busy.parts is None:
            return True
        found = sorted(cut for part in busy.parts if (cut := positions(self._ids, part))[0] < cut[1])
        return any(touching(found, self.needed[place]))

    def _stale(self, place: int, reached: Mapping[Cut, Sequence[Dependency]], whole: list[Cut]) -> list[Cut]:
        """Return the reached chunks of a node, in order, that are not fresh enough for all dependencies that reach
        them."""
        node = self._nodes[place]
        candidates = [cut for cut in whole if cut in reached]
        pieces = [self._ids[slice(*cut)] for cut in candidates]
        ages = self._known.ages(node.app.name, node.freshness_scope, pieces) if pieces else []
        ran = self._last_run(node, reached.values())
        needed = []
        for cut, age in zip(candidates, ages, strict=True):
            fresh = [self._fresh(node, cut, dependency, age, ran) for dependency in reached[cut]]
            if all(fresh):
                self.fresh.extend(each for each in fresh[:1] if each)
            else:
                needed.append(cut)
                self._ages[place, cut] = age
        return needed

    def _last_run(self, node: AppNode, reached: Iterable[Sequence[Dependency]]) -> datetime | None:
        anyhow = any(dependency.any_ids for wanting in reached for dependency in wanting)
        return self._known.last_run(node.app.name, node.freshness_scope) if anyhow else None

    def _fresh(
        self, node: AppNode, cut: Cut, dependency: Dependency, age: Age, ran: datetime | None
    ) -> Fresh | None:
        """Return why the chunk is fresh; None if it is not. An age of exactly the limit is fresh; with a limit of zero,
        nothing is."""
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
    """Values that all jobs share, and the terms of each app."""

    ids: Sequence[WorkId]
    of_app: Mapping[str, JobTerms]
    number: int


def _jobs(
    node: AppNode, named: Mapping[Cut, JobName], needs: Mapping[Cut, Sequence[Need]], shared: _Shared
) -> Iterator[PlannedJob]:
    overrides, policy = shared.of_app[node.app.name]
    for cut, name in named.items():
        waits_for = needs.get(cut)
        yield PlannedJob(
            name=name,
            standing=EntryState.WANTED,
            gates=(Gate("default", tuple(waits_for)),) if waits_for else (),
            policy=policy,
            offset_s=policy.start_offset_s(name, str(shared.number)),
            overrides=overrides,
            kwargs=node.kwargs,
            work_ids=tuple(shared.ids[slice(*cut)]),
            freshness_scope=node.freshness_scope,
            pool=pool_of(node.app, policy, name.key, node.kwargs),
            rate=rate_of(node.app, name.key, node.kwargs),
        )


def _name(node: AppNode, ids: Sequence[WorkId], number: int) -> JobName:
    """Return the name of a chunk. Each submission has its own chunks, so the key contains its number. An app may have
    one chunk several times under different kwargs, so the key also contains the node's number."""
    whose = f"@{number}" if number else ""
    which = f".{node.number}" if node.number > 1 else ""
    return JobName(node.app.name, f"{short_text_of(ids)}{whose}{which}")
