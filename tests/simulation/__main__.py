"""Run seeds: ``python -m tests.simulation --seeds 1000``, or replay one: ``--seed 4711``.

``--shrink`` finds the fewest faults with which a failing seed still fails.
"""

import argparse
import logging
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.leftovers import run_without_leftovers
from tests.simulation.run import THEMES
from tests.simulation.seeds import run_seeds


def main() -> int:
    options = _options()
    seeds = (
        [options.seed] if options.seed is not None else [*range(options.first, options.first + options.seeds)]
    )
    processes = 1 if len(seeds) == 1 else options.processes
    began = time.monotonic()
    # Spawned, because forked processes would not have the mark by which ``tests.leftovers`` finds them. Logging is off,
    # because the log of failing user code is of no interest here.
    with ProcessPoolExecutor(processes, get_context("spawn"), initializer=logging.disable) as pool:
        shares = [
            pool.submit(run_seeds, seeds[place::processes], options.theme, shrink=options.shrink)
            for place in range(processes)
        ]
        results = [share.result() for share in shares]
    steps = sum(result.steps for result in results)
    failures = [failure for result in results for failure in result.failures]
    for failure in failures:
        print(failure)
    minutes = (time.monotonic() - began) / 60
    print(
        f"{len(seeds)} seeds, {steps} steps, {len(seeds) / minutes:.0f} seeds a minute, {len(failures)} violations"
    )
    return 1 if failures else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--seed", type=int, help="run this seed alone")
    parser.add_argument("--shrink", action="store_true", help="find the fewest faults of a failing seed")
    parser.add_argument(
        "--theme", default="anything", choices=[*THEMES], help="theme of the worlds; default: anything"
    )
    parser.add_argument("--processes", type=int, default=2, metavar="N")
    return parser.parse_args()


if __name__ == "__main__":
    with run_without_leftovers():
        sys.exit(main())
