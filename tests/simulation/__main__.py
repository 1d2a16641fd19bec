"""Run seeds: ``python -m tests.simulation --seeds 1000``, or replay one: ``--seed 4711``. ``--shrink`` finds the fewest
faults with which the seeds that fail still do."""

import argparse
import logging
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from pathlib import Path

from ledger import migrate
from ledger.embedded import start
from tests.simulation.ground import Ground
from tests.simulation.run import THEMES, Violation, simulate
from tests.simulation.shrinking import shrunk


def main() -> int:
    options = _options()
    # What users' code says of its failures is no news here.
    logging.disable()
    seeds = (
        [options.seed] if options.seed is not None else [*range(options.first, options.first + options.seeds)]
    )
    processes = 1 if len(seeds) == 1 else options.processes
    began = time.monotonic()
    with ProcessPoolExecutor(processes) as pool:
        shares = [
            pool.submit(run_seeds, seeds[place::processes], options.theme, shrink=options.shrink)
            for place in range(processes)
        ]
        results = [share.result() for share in shares]
    steps = sum(result[0] for result in results)
    failures = [failure for result in results for failure in result[1]]
    for failure in failures:
        print(failure)
    minutes = (time.monotonic() - began) / 60
    print(
        f"{len(seeds)} seeds, {steps} steps, {len(seeds) / minutes:.0f} seeds a minute, {len(failures)} violations"
    )
    return 1 if failures else 0


def run_seeds(seeds: list[int], theme: str = "anything", *, shrink: bool = False) -> tuple[int, list[str]]:
    """These seeds on a ledger of their own: how many steps they took, and what went wrong."""
    with tempfile.TemporaryDirectory() as home, start(Path(home), durable=False) as postgres:
        migrate.require(postgres.url)
        with closing(Ground(postgres.url)) as ground:
            ran = [_ran(ground, seed, theme, shrink=shrink) for seed in seeds]
    return sum(steps for steps, _ in ran), [failure for _, failure in ran if failure is not None]


def _ran(ground: Ground, seed: int, theme: str, *, shrink: bool) -> tuple[int, str | None]:
    try:
        return simulate(ground, seed, theme=theme), None
    except Violation as violation:
        least = shrunk(ground, seed, violation, theme=theme) if shrink else None
        return 0, str(violation) if least is None else _told(least, violation)


def _told(least: Violation, violation: Violation) -> str:
    """The violation that few faults lead to, and which they are."""
    faults = "\n".join(f"    {line}" for line in least.words) or "    (nothing has to go wrong)"
    return f"{least}\nof {len(violation.happened)} faults these are needed:\n{faults}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--seed", type=int, help="this one alone")
    parser.add_argument("--shrink", action="store_true", help="of a seed that fails, find the fewest faults")
    parser.add_argument("--theme", default="anything", choices=[*THEMES], help="what the worlds are about")
    parser.add_argument("--processes", type=int, default=2, metavar="N")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
