"""Operations on runs of partitions: each is equal to the operation on the sets of partitions."""

from collections.abc import Iterable
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.keys.calendar import Span
from sluice.planner.keyspaces.partitions.ranges import in_both, meeting, places, steps, united, without

#: So few numbers that spans often touch, overlap and contain each other.
_NUMBERS = st.integers(-12, 12)
_SPAN = st.tuples(_NUMBERS, st.integers(0, 7)).map(lambda drawn: Span(drawn[0], sum(drawn)))
_SPANS = st.lists(_SPAN, max_size=8)


@st.composite
def _apart(draw: st.DrawFn) -> list[Span]:
    """Draw sorted spans that may touch and have no partition in common, as the outputs of several jobs."""
    spans: list[Span] = []
    first = draw(_NUMBERS)
    for gap, more in draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=7)):
        spans.append(Span(first + gap, first + gap + more))
        first += gap + more + 1
    return spans


def _members(spans: Iterable[Span]) -> set[int]:
    return {each for span in spans for each in range(span.first, span.last + 1)}


def _are_runs(spans: list[Span]) -> bool:
    """Return whether the spans are sorted, not empty, and do not touch."""
    return all(len(span) > 0 for span in spans) and all(a.last + 1 < b.first for a, b in pairwise(spans))


@given(_SPANS)
def test_united_spans_are_runs_of_the_same_partitions(spans: list[Span]) -> None:
    runs = united(spans)
    assert _members(runs) == _members(spans)
    assert _are_runs(runs)
    assert united(reversed(runs)) == runs


@given(_SPANS, _apart())
def test_without_leaves_runs_of_the_partitions_that_were_not_taken(
    spans: list[Span], taken: list[Span]
) -> None:
    left = without(united(spans), taken)
    assert _members(left) == _members(spans) - _members(taken)
    assert _are_runs(left)


@given(_apart(), _apart())
def test_in_both_returns_the_common_partitions_once(spans: list[Span], others: list[Span]) -> None:
    both = in_both(spans, others)
    assert _members(both) == _members(spans) & _members(others)
    assert sum(map(len, both)) == len(_members(both))
    assert both == sorted(both)


@given(_apart(), _SPAN)
def test_places_and_meeting_find_the_spans_that_overlap_another(spans: list[Span], span: Span) -> None:
    met = [place for place, each in enumerate(spans) if _members([each]) & _members([span])]
    assert [*places(spans, span)] == met
    assert [*meeting(spans, span)] == [spans[place] for place in met]


@given(_SPANS, st.integers(1, 6))
def test_steps_are_full_except_the_last_of_each_run(spans: list[Span], size: int) -> None:
    runs = united(spans)
    packed = steps(runs, size)
    assert packed == sorted(packed)
    assert _members(packed) == _members(runs)
    assert sum(map(len, packed)) == sum(map(len, runs))
    for run in runs:
        within = [step for step in packed if run.first <= step.first <= run.last]
        assert within[0].first == run.first
        assert within[-1].last == run.last
        assert all(len(step) == size for step in within[:-1])
        assert 1 <= len(within[-1]) <= size
