"""Sets of partitions, as runs: spans in order that neither touch nor overlap."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from sluice.jobs.calendar import Span


def united(spans: Iterable[Span]) -> list[Span]:
    """All of these as runs."""
    runs: list[Span] = []
    for span in sorted(spans):
        if runs and span.first <= runs[-1].last + 1:
            if span.last > runs[-1].last:
                runs[-1] = Span(runs[-1].first, span.last)
        else:
            runs.append(span)
    return runs


def without(runs: Iterable[Span], taken: Sequence[Span]) -> list[Span]:
    """What is left of the runs where these, which are in order and do not overlap, are taken away."""
    left: list[Span] = []
    for run in runs:
        first = run.first
        for span in meeting(taken, run):
            if span.first > first:
                left.append(Span(first, span.first - 1))
            first = span.last + 1
        if first <= run.last:
            left.append(Span(first, run.last))
    return left


def in_both(runs: Iterable[Span], others: Sequence[Span]) -> list[Span]:
    """What is in both; the others are in order and do not overlap."""
    return [
        Span(max(run.first, span.first), min(run.last, span.last))
        for run in runs
        for span in meeting(others, run)
    ]


def meeting(spans: Sequence[Span], span: Span) -> Iterator[Span]:
    """Those that have a partition in common with the one; they are in order and do not overlap."""
    return (spans[place] for place in places(spans, span))


def places(spans: Sequence[Span], span: Span) -> range:
    """Where these stand."""
    begin = bisect_left(spans, span.first, key=_last)
    end = begin
    while end < len(spans) and spans[end].first <= span.last:
        end += 1
    return range(begin, end)


def steps(runs: Iterable[Span], size: int) -> list[Span]:
    """Each run in steps of so many partitions from its first on; the last of a run may be shorter."""
    return [
        Span(first, min(first + size - 1, run.last))
        for run in runs
        for first in range(run.first, run.last + 1, size)
    ]


def _last(span: Span) -> int:
    return span.last
