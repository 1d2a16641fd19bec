"""Whatever apps, work IDs and freshness there are: what runs and what waits for what follows from the IDs alone.

``Expected`` says so by definition, one ID at a time, and knows nothing of cuts or of an order among apps.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.plan import PlannedJob
from sluice.jobs.ref import JobName
from sluice.jobs.work_ids import WorkId, ids_of, parse_work_ids, parts_of
from sluice.planner.cuts import cuts, positions, touching
from tests.planner.drawn_chunks import IDS, NOW, Drawn, drawn_chunks, planned

Ids = frozenset[WorkId]


class Node(NamedTuple):
    """An app as one way down reaches it: shared by all who hand it the same kwargs, or its parent's own."""

    app: str
    kwargs: tuple[tuple[str, Any], ...] = ()
    owner: Any = None


class Piece(NamedTuple):
    node: Node
    ids: Ids


class Expected:
    """What by definition runs, and what each of it waits for."""

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
        """All IDs that stand in one stretch of the list with it, and there in one piece."""
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
def test_what_runs_and_what_waits_for_what_is_what_has_to(drawn: Drawn) -> None:
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
def test_chunks_are_pieces_of_the_ids_and_no_longer_than_they_may_be(drawn: Drawn) -> None:
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
def test_nobody_waits_for_what_comes_later(drawn: Drawn) -> None:
    """So that a plan has no circles, and can be entered from its first job on."""
    found = planned(drawn)
    before: set[JobName] = set()
    for job in found.jobs:
        assert before >= {*parents(job)}
        assert job.name not in before
        before.add(job.name)


@given(drawn_chunks())
def test_what_need_not_run_is_fresh_and_what_runs_is_not_told_to_be(drawn: Drawn) -> None:
    found = planned(drawn)
    assert all(NOW - fresh.at <= timedelta(seconds=fresh.lag_s_max) > timedelta() for fresh in found.fresh)
    if not any(edge["unique"] or edge["custom_kwargs"] for edge in edges(drawn)):
        spared = {(fresh.app, each) for fresh in found.fresh for each in fresh.work_ids}
        assert spared.isdisjoint((job.name.app, each) for job in found.jobs for each in job.work_ids or ())


@given(drawn_chunks(always_lag=True))
def test_once_everything_has_succeeded_only_what_is_asked_for_by_name_runs(drawn: Drawn) -> None:
    first = planned(drawn)
    ran = {(job.name.app, str(each)): 0 for job in first.jobs for each in job.work_ids or ()}
    again = planned(drawn._replace(ages_m=drawn.ages_m | ran))
    assert {job.name for job in again.jobs} == {*first.asked} == {*again.asked}
    assert all(not job.gates for job in again.jobs)


@given(st.integers(0, 30), st.integers(1, 9), st.integers(1, 9), st.integers(1, 20))
def test_cuts_touch_where_they_have_a_place_in_common(
    length: int, one: int, other: int, longest: int
) -> None:
    these, those = cuts(length, one, longest), cuts(length, other, longest)
    assert [place for cut in these for place in range(*cut)] == [*range(length)]
    assert all(0 < end - start <= one and start // longest == (end - 1) // longest for start, end in these)
    common = [(a, b) for a in these for b in those if {*range(*a)} & {*range(*b)}]
    assert [*touching(these, those)] == common
    assert [*touching(these[::2], those[1::3])] == [
        (a, b) for a, b in common if a in these[::2] and b in those[1::3]
    ]


@given(st.lists(st.sampled_from(IDS), unique=True, max_size=9), st.data())
def test_a_part_stands_where_its_ids_stand(raw: list[WorkId], data: st.DataObject) -> None:
    ids = parse_work_ids(raw)
    others = parse_work_ids(data.draw(st.lists(st.sampled_from(IDS), unique=True, min_size=1, max_size=9)))
    for part in parts_of(others):
        assert ids[slice(*positions(ids, part))] == tuple(each for each in ids if each in {*ids_of([part])})


def node_number(job: PlannedJob) -> str:
    """Of several nodes of one app all but the first have one in their keys."""
    return job.name.key.partition(".")[2]


def parents(job: PlannedJob) -> list[JobName]:
    return [need.parent for gate in job.gates for need in gate.needs]


def edges(drawn: Drawn) -> list[dict[str, Any]]:
    return [edge for app in drawn.apps.values() for edge in app["dependencies"]]


def outline(jobs: dict[int, Any], needs: dict[int, set[int]]) -> Counter[str]:
    """The jobs, each with all that is above it and with those right below it: by this, two graphs are the same."""
    above: dict[int, str] = {}

    def tell(job: int) -> str:
        if job not in above:
            app, ids, kwargs = jobs[job]
            needed = sorted(map(tell, needs[job]))
            above[job] = f"{app} {sorted(map(repr, ids))} {sorted(kwargs.items())} <- {needed}"
        return above[job]

    below = {job: sorted(tell(child) for child, needed in needs.items() if job in needed) for job in jobs}
    return Counter(f"{tell(job)} for {below[job]}" for job in jobs)
