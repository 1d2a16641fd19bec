"""Sets of partitions as runs: sorted spans that neither touch nor overlap."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from sluice.jobs.keys.calendar import Span


def united(spans: Iterable[Span]) -> list[Span]:
    """Merge spans into runs."""
    runs: list[Span] = []
    for span in sorted(spans):
        if runs and span.first <= runs[-1].last + 1:
            if span.last > runs[-1].last:
                runs[-1] = Span(runs[-1].first, span.last)
        else:
            runs.append(span)
    return runs


def without(runs: Iterable[Span], taken: Sequence[Span]) -> list[Span]:
    """Remove the ``taken`` spans, which are sorted and do not overlap, from the runs."""
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
    """Return the partitions that are in both. ``others`` are sorted and do not overlap."""
    return [
        Span(max(run.first, span.first), min(run.last, span.last))
        for run in runs
        for span in meeting(others, run)
    ]


def meeting(spans: Sequence[Span], span: Span) -> Iterator[Span]:
    """Return the spans that share a partition with ``span``. ``spans`` are sorted and do not overlap."""
    return (spans[place] for place in places(spans, span))


def places(spans: Sequence[Span], span: Span) -> range:
    """Return the positions in ``spans`` of the spans that share a partition with ``span``."""
    begin = bisect_left(spans, span.first, key=_last)
    end = begin
    while end < len(spans) and spans[end].first <= span.last:
        end += 1
    return range(begin, end)


def steps(runs: Iterable[Span], size: int) -> list[Span]:
    """Cut each run into steps of ``size`` partitions, starting at its first. The last step of a run may be shorter."""
    return [
        Span(first, min(first + size - 1, run.last))
        for run in runs
        for first in range(run.first, run.last + 1, size)
    ]


def _last(span: Span) -> int:
    return span.last
