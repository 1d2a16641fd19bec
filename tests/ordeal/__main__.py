"""Run the ordeal for all contenders, one after another, and print the results of their jobs."""

import argparse
import sys

from tests.leftovers import run_without_leftovers
from tests.ordeal.contenders import CONTENDERS
from tests.ordeal.ordeal import Course, Report, go_through
from tests.private_servers import SERVERS

_HEAD = (
    f"{'':20}{'accepted':>9}{'lost':>6}{'doubled':>9}{'begun again':>13}{'in the ledger':>15}{'twice':>7}"
    f"{'healed':>9}"
)


def main() -> int:
    options = _options()
    course = Course(options.broker, options.jobs, options.seconds, options.seed)
    print(f"{course.broker}: {course.jobs} jobs in {course.seconds:.0f} s, seed {course.seed}")
    chosen = [each for each in CONTENDERS if each.name in options.only and course.broker in each.brokers]
    failed = False
    for place, contender in enumerate(chosen):
        report = go_through(contender, course)
        # Only a contender with a ledger promises that no job is lost, and that none succeeds twice in it.
        failed |= contender.has_ledger and bool(report.lost or report.twice)
        if not place:
            print(f"{report.kills} workers killed, {report.cuts} cuts, {report.crashes} brokers killed; each")
            print(_HEAD)
        print(_line(report), flush=True)
    return 1 if failed else 0


def _line(report: Report) -> str:
    ledger, twice = ("-" if each is None else str(each) for each in (report.succeeded, report.twice))
    return (
        f"{report.name:20}{report.accepted:9}{report.lost:6}{report.doubled:9}{report.begun_again:13}"
        f"{ledger:>15}{twice:>7}{report.healed_s:7.1f} s"
    )


def _options() -> argparse.Namespace:
    names = {contender.name: contender for contender in CONTENDERS}
    parser = argparse.ArgumentParser(prog="python -m tests.ordeal", description=__doc__)
    parser.add_argument("--broker", default="rabbit", choices=SERVERS)
    parser.add_argument("--jobs", type=int, default=2000, metavar="N")
    parser.add_argument(
        "--seconds", type=float, default=40.0, metavar="S", help="over which they are published"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=[*names], choices=names, metavar="CONTENDER")
    return parser.parse_args()


if __name__ == "__main__":
    with run_without_leftovers():
        sys.exit(main())
