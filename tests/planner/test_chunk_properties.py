"""Properties of plans for any apps, work IDs and freshness: the chunks to run and their parents follow from the IDs.

``Expected`` determines them by definition, one ID at a time, without cuts and without an order of the apps.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.keys.work_ids import WorkId, ids_of, parse_work_ids, parts_of
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import PlannedJob
from sluice.planner.keyspaces.chunks.chunk_plan import cuts, positions, touching
from tests.planner.drawn_chunks import IDS, NOW, Drawn, drawn_chunks, planned

Ids = frozenset[WorkId]


class Node(NamedTuple):
    """App as one path reaches it: shared by all parents that pass the same kwargs, or owned by one parent."""

    app: str
    kwargs: tuple[tuple[str, Any], ...] = ()
    owner: Any = None


class Piece(NamedTuple):
    node: Node
    ids: Ids


class Expected:
    """Pieces that must run by definition, and the pieces that each of them waits for."""

    def __init__(self, drawn: Drawn) -> None:
        self._drawn = drawn
        self._longest = max(drawn.apps[node.app]["chunk_size"] for node in self._below(Node("A0")))
        self.needs: dict[Piece, set[Piece]] = {}
        found = [self._piece(Node("A0"), each) for each in drawn.ids]
        while found:
            piece = found.pop()
            if piece not in self.needs:
                self.needs[piece] = set()
                found += self._stale(piece)
        for piece, needs in self.needs.items():
            nodes = {node for node, _ in self._edges(piece.node)}
            needs.update(other for other in self.needs if other.node in nodes and other.ids & piece.ids)

    def _below(self, node: Node) -> Iterator[Node]:
        yield node
        for other, _ in self._edges(node):
            yield from self._below(other)

    def _edges(self, node: Node) -> Iterator[tuple[Node, dict[str, Any]]]:
        for edge in self._drawn.apps[node.app]["dependencies"]:
            kwargs = tuple(sorted((dict(node.kwargs) | edge["custom_kwargs"]).items()))
            yield Node(edge["job_type"], kwargs, node if edge["unique"] else None), edge

    def _piece(self, node: Node, work_id: WorkId) -> Piece:
        """Return the piece with this ID: all IDs in the same stretch of the list, and there in the same cut."""
        size, place = self._drawn.apps[node.app]["chunk_size"], self._drawn.ids.index(work_id)
        same = {
            other
            for at, other in enumerate(self._drawn.ids)
            if at // self._longest == place // self._longest
            and at % self._longest // size == place % self._longest // size
        }
        return Piece(node, frozenset(same))

    def _stale(self, piece: Piece) -> Iterator[Piece]:
        for node, edge in self._edges(piece.node):
            for work_id in piece.ids:
                needed = self._piece(node, work_id)
                if not self._is_fresh(needed, edge):
                    yield needed

    def _is_fresh(self, piece: Piece, edge: dict[str, Any]) -> bool:
        ages = [self._drawn.ages_m.get((piece.node.app, str(each)), 10**6) for each in piece.ids]
        if edge["allow_missing_work_ids"]:
            ages = [min(age, self._drawn.runs_m.get(piece.node.app, 10**6)) for age in ages]
        return 0 < edge["max_lag"] >= max(ages)


@given(drawn_chunks())
def test_a_plan_runs_the_required_chunks_and_each_waits_for_its_parents(drawn: Drawn) -> None:
    told = Expected(drawn).needs
    by_definition = {
        number: (each.node.app, each.ids, dict(each.node.kwargs)) for number, each in enumerate(told)
    }
    numbers = {each: number for number, each in enumerate(told)}
    needed = {numbers[each]: {numbers[other] for other in others} for each, others in told.items()}
    jobs = planned(drawn).jobs
    names = {job.name: number for number, job in enumerate(jobs)}
    found = {
        number: (job.name.app, frozenset(job.work_ids or ()), job.kwargs) for number, job in enumerate(jobs)
    }
    waiting = {names[job.name]: {names[parent] for parent in parents(job)} for job in jobs}
    assert outline(found, waiting) == outline(by_definition, needed)


@given(drawn_chunks())
def test_chunks_are_disjoint_parts_of_the_ids_within_their_size(drawn: Drawn) -> None:
    found = planned(drawn)
    covered = Counter(each for job in found.jobs if job.name in found.asked for each in job.work_ids or ())
    assert covered == Counter(drawn.ids), "the app that is asked for is about each ID once"
    for job in found.jobs:
        ids = job.work_ids or ()
        assert 0 < len(ids) <= drawn.apps[job.name.app]["chunk_size"]
        assert [*ids] == [each for each in drawn.ids if each in ids], "in the order of all"
    of_node = Counter(
        (job.name.app, node_number(job), each) for job in found.jobs for each in job.work_ids or ()
    )
    assert max(of_node.values()) == 1, "no two chunks of a node are about the same ID"


@given(drawn_chunks())
def test_no_job_waits_for_a_later_job_of_the_plan(drawn: Drawn) -> None:
    """Therefore a plan has no cycles, and its jobs can be inserted in this order."""
    found = planned(drawn)
    before: set[JobName] = set()
    for job in found.jobs:
        assert before >= {*parents(job)}
        assert job.name not in before
        before.add(job.name)


@given(drawn_chunks())
def test_work_that_a_plan_skips_is_fresh_and_does_not_run(drawn: Drawn) -> None:
    found = planned(drawn)
    assert all(NOW - fresh.at <= timedelta(seconds=fresh.lag_s_max) > timedelta() for fresh in found.fresh)
    if not any(edge["unique"] or edge["custom_kwargs"] for edge in edges(drawn)):
        spared = {(fresh.app, each) for fresh in found.fresh for each in fresh.work_ids}
        assert spared.isdisjoint((job.name.app, each) for job in found.jobs for each in job.work_ids or ())


@given(drawn_chunks(always_lag=True))
def test_after_everything_has_succeeded_only_the_requested_chunks_run(drawn: Drawn) -> None:
    first = planned(drawn)
    ran = {(job.name.app, str(each)): 0 for job in first.jobs for each in job.work_ids or ()}
    again = planned(drawn._replace(ages_m=drawn.ages_m | ran))
    assert {job.name for job in again.jobs} == {*first.asked} == {*again.asked}
    assert all(not job.gates for job in again.jobs)


@given(st.integers(0, 30), st.integers(1, 9), st.integers(1, 9), st.integers(1, 20))
def test_cuts_touch_exactly_if_they_share_a_position(length: int, one: int, other: int, longest: int) -> None:
    these, those = cuts(length, one, longest), cuts(length, other, longest)
    assert [place for cut in these for place in range(*cut)] == [*range(length)]
    assert all(0 < end - start <= one and start // longest == (end - 1) // longest for start, end in these)
    common = [(a, b) for a in these for b in those if {*range(*a)} & {*range(*b)}]
    assert [*touching(these, those)] == common
    assert [*touching(these[::2], those[1::3])] == [
        (a, b) for a, b in common if a in these[::2] and b in those[1::3]
    ]


@given(st.lists(st.sampled_from(IDS), unique=True, max_size=9), st.data())
def test_the_positions_of_a_part_contain_exactly_its_ids(raw: list[WorkId], data: st.DataObject) -> None:
    ids = parse_work_ids(raw)
    others = parse_work_ids(data.draw(st.lists(st.sampled_from(IDS), unique=True, min_size=1, max_size=9)))
    for part in parts_of(others):
        assert ids[slice(*positions(ids, part))] == tuple(each for each in ids if each in {*ids_of([part])})


def node_number(job: PlannedJob) -> str:
    """Return the number of the job's node, which is in its key. The first node of an app has none."""
    return job.name.key.partition(".")[2]


def parents(job: PlannedJob) -> list[JobName]:
    return [need.parent for gate in job.gates for need in gate.needs]


def edges(drawn: Drawn) -> list[dict[str, Any]]:
    return [edge for app in drawn.apps.values() for edge in app["dependencies"]]


def outline(jobs: dict[int, Any], needs: dict[int, set[int]]) -> Counter[str]:
    """Return each job with everything above it and the jobs right below it. Equal graphs have equal outlines."""
    above: dict[int, str] = {}

    def tell(job: int) -> str:
        if job not in above:
            app, ids, kwargs = jobs[job]
            needed = sorted(map(tell, needs[job]))
            above[job] = f"{app} {sorted(map(repr, ids))} {sorted(kwargs.items())} <- {needed}"
        return above[job]

    below = {job: sorted(tell(child) for child, needed in needs.items() if job in needed) for job in jobs}
    return Counter(f"{tell(job)} for {below[job]}" for job in jobs)
