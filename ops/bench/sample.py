"""Figures of one run of a workload, and their summary over several runs."""

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from msgspec import Struct

#: Values by the name of the figure. The name ends in the unit: ``wall_s``, ``grown_mb``.
Figures = Mapping[str, float]


class Summary(Struct, frozen=True):
    """One figure over all runs of one workload, by one contender if there are several."""

    workload: str
    contender: str | None
    figure: str
    median: float
    least: float
    most: float
    runs: tuple[float, ...]


def took_s(work: Callable[[], object]) -> float:
    """Return how long the work takes, in seconds."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def summaries(workload: str, contender: str | None, runs: Sequence[Figures]) -> list[Summary]:
    """Return a summary of each figure, in the order of the first run."""
    return [_summary(workload, contender, figure, tuple(run[figure] for run in runs)) for figure in runs[0]]


def ratio(ours: Sequence[Summary], theirs: Summary) -> float | None:
    """Return our median of a figure divided by their median of it. None if we have no such figure, or if
    theirs is 0.
    """
    same = [each for each in ours if (each.workload, each.figure) == (theirs.workload, theirs.figure)]
    return same[0].median / theirs.median if same and theirs.median else None


def _summary(workload: str, contender: str | None, figure: str, values: tuple[float, ...]) -> Summary:
    return Summary(workload, contender, figure, median(values), min(values), max(values), values)
