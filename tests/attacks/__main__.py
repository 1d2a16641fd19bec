"""Make all attacks on one installation and print a table.

``python -m tests.attacks --broker redis --only on_console``
"""

import argparse
import logging
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.attacks.attack import make
from tests.attacks.catalogue import ATTACKS
from tests.attacks.installation import installation
from tests.leftovers import run_without_leftovers
from tests.private_servers import SERVERS

_SHOWN = 100
_WIDTH = max(len(each.name) for each in ATTACKS)


def main() -> int:
    options = _options()
    logging.disable()
    chosen = [each for each in ATTACKS if options.only in f"{each.act.__module__} {each.name}"]
    failed = 0
    with (
        TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        installation(Path(folder), options.broker) as place,
    ):
        print(f"{'attack':<{_WIDTH}} {'start, median':>13} {'longest':>8} {'planner':>8}  refused with")
        for each in chosen:
            try:
                course = make(place, each)
            except Exception as error:  # An attack that breaks off was not refused either.
                failed += 1
                print(f"{each.name:<{_WIDTH}} NOT REFUSED: {error!r}", flush=True)
                continue
            starts = course.starts
            print(
                f"{each.name:<{_WIDTH}} {starts.median_s:11.2f} s {starts.longest_s:6.2f} s {course.peak_mb:5d} MB"
                f"  {course.refusal[:_SHOWN]}",
                flush=True,
            )
    print(f"{len(chosen)} attacks, {failed} of them not refused")
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("--broker", default="rabbit", choices=[*SERVERS])
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="attacks with this in their names or modules"
    )
    return parser.parse_args()


if __name__ == "__main__":
    with run_without_leftovers():
        sys.exit(main())
