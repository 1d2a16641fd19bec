"""``python -m tests.chaos --seconds 90 --seed 7 --broker redis``: one run, its figures, and its violations."""

import argparse
import logging
import sys
from pathlib import Path

from tests.chaos.figures import written
from tests.chaos.run import Options, run
from tests.leftovers import run_without_leftovers
from tests.private_servers import SERVERS

#: Violations that are shown. One cause has many consequences.
_SHOWN = 100


def main() -> int:
    words = _words()
    logging.disable()  # Our own clients log the cut wires, which are expected here.
    options = Options(
        seconds=words.seconds,
        seed=words.seed,
        broker=words.broker,
        keep=words.keep,
        enough=words.enough,
        calm=words.calm,
    )
    result = run(options)
    print(f"seed {options.seed}, {options.seconds:g} s, {options.broker}")
    print(written(result.figures))
    for violation in result.violations[:_SHOWN]:
        print(violation)
    print(f"{len(result.violations)} violations")
    return 1 if result.violations else 0


def _words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    parser.add_argument("--broker", default="rabbit", choices=[*SERVERS])
    parser.add_argument(
        "--enough",
        type=int,
        default=400,
        metavar="JOBS",
        help="jobs that are kept waiting; default: %(default)s",
    )
    parser.add_argument(
        "--calm",
        type=float,
        default=1.0,
        metavar="FACTOR",
        help="factor for the intervals of faults; default: 1",
    )
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="folder for the record; default: a temporary folder"
    )
    return parser.parse_args()


if __name__ == "__main__":
    with run_without_leftovers():
        sys.exit(main())
