"""Runs of many seeds, one after another."""

import tempfile
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from tests.homes import started_ledger
from tests.simulation.environment import Ground
from tests.simulation.run import Violation, simulate
from tests.simulation.shrink import shrunk


class Result(NamedTuple):
    steps: int
    #: The message of each violation, which has the command that replays it.
    failures: list[str]


def run_on(ground: Ground, seeds: Iterable[int], theme: str = "anything", *, shrink: bool = False) -> Result:
    """Run these seeds on one ledger. With ``shrink``, find the fewest faults with which a failing seed fails."""
    steps, failures = 0, []
    for seed in seeds:
        try:
            steps += simulate(ground, seed, theme=theme)
        except Violation as violation:
            least = shrunk(ground, seed, violation, theme=theme) if shrink else None
            failures.append(str(violation) if least is None else _described(least, violation))
    return Result(steps, failures)


def run_seeds(seeds: Iterable[int], theme: str, *, shrink: bool) -> Result:
    """Run these seeds on a ledger of their own, in a process of a pool."""
    with (
        tempfile.TemporaryDirectory() as home,
        started_ledger(Path(home)) as url,
        closing(Ground(url)) as ground,
    ):
        return run_on(ground, seeds, theme, shrink=shrink)


def _described(least: Violation, violation: Violation) -> str:
    """Format the violation that the fewest faults cause, with these faults."""
    faults = "\n".join(f"    {line}" for line in least.words) or "    (nothing has to go wrong)"
    return f"{least}\nof {len(violation.happened)} faults these are needed:\n{faults}"
