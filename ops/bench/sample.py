"""What one run of a workload came to, and what several did."""

from collections.abc import Mapping, Sequence
from statistics import median

from msgspec import Struct

#: Figure → value; a figure's name ends in its unit: ``wall_s``, ``grown_mb``.
Figures = Mapping[str, float]


class Summary(Struct, frozen=True):
    """One figure over all runs of one workload."""

    workload: str
    figure: str
    median: float
    least: float
    most: float
    runs: tuple[float, ...]


def summaries(workload: str, runs: Sequence[Figures]) -> list[Summary]:
    """One for each figure, in the order of the first run."""
    return [_summary(workload, figure, tuple(run[figure] for run in runs)) for figure in runs[0]]


def _summary(workload: str, figure: str, values: tuple[float, ...]) -> Summary:
    return Summary(workload, figure, median(values), min(values), max(values), values)
