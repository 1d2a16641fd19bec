"""Run a soak, and print its tenths."""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from tests.homes import started_ledger
from tests.leftovers import run_without_leftovers
from tests.private_servers import SERVERS
from tests.soak.growth import growing
from tests.soak.reading import Reading, read

ROOT = Path(__file__).parents[2]
APPS = Path(__file__).parent / "apps.py"
WORKERS = 2
#: Pairs of jobs per submission, and the maximum of open jobs.
PAIRS, OPEN_MAX = 500, 8000
#: Minimum of seconds between two readings.
EVERY_S = 5.0
_TENTHS = 10
_REMOVED = "SELECT count(*) FROM job WHERE pruned_at IS NOT NULL"
_MIB = 1024 * 1024


def main() -> int:
    options = _options()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(ignore_cleanup_errors=True)))
        url = stack.enter_context(started_ledger(folder / "home", durable=True))
        broker_url = stack.enter_context(SERVERS[options.broker]()).url
        environment = {"SLUICE_LEDGER_URL": url, "SLUICE_BROKER_URL": broker_url}
        environment |= {"SLUICE_KEEP_HISTORY": options.keep}
        workers = stack.enter_context(_workers(environment, folder))
        ledger = Ledger(url, connections=2)
        stack.callback(ledger.close)
        broker = connect(broker_url)
        stack.callback(broker.close)
        processes = {**workers, "postgres": _postmaster(folder / "home")}
        readings = [*_soaked(ledger, Client(ledger, broker.publish), processes, options)]
        _tell(readings)
        found = ledger.transact(breaches)
        removed = ledger.transact(lambda tx: tx.column(_REMOVED))[0]
    print("the ledger agrees with itself" if not found else f"breaches: {found}")
    print(f"the histories of {removed} jobs were removed meanwhile")
    grown = [*growing([later for _, later in _spans(readings)])]
    print("\n".join(grown) or "no process has grown")
    return 1 if found or grown else 0


def _soaked(
    ledger: Ledger, client: Client, processes: Mapping[str, int], options: argparse.Namespace
) -> Iterator[Reading]:
    """Yield readings until the given number of jobs has ended and the given minutes have passed."""
    jobs = options.jobs
    began = time.monotonic()
    numbers = count()
    asked = place = 0
    read_at = 0.0
    while True:
        found = read(ledger, processes, at_s=time.monotonic() - began, after=place)
        if found.at_s - read_at >= EVERY_S:
            read_at, place = found.at_s, found.place
            yield found
        is_long = found.at_s >= 60 * options.minutes
        if found.ended >= jobs and is_long:
            return
        while (asked < jobs or not is_long) and asked - found.ended < OPEN_MAX:
            keys = tuple(str(next(numbers)) for _ in range(PAIRS))
            client.submit(Submission(app="second", keys=keys))
            asked += 2 * PAIRS
        time.sleep(0.5)


@contextmanager
def _workers(environment: Mapping[str, str], folder: Path) -> Iterator[Mapping[str, int]]:
    with (folder / "workers.log").open("ab") as log, ExitStack() as stack:
        started = {}
        for number in range(WORKERS):
            process = subprocess.Popen(
                [sys.executable, "-m", "actors.worker", "--threads", "4", "--apps", str(APPS)],
                cwd=ROOT,
                env=os.environ | environment,
                stdout=log,
                stderr=log,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
            started[f"worker {number + 1}"] = process.pid
        yield started


def _postmaster(home: Path) -> int:
    (found,) = home.rglob("postmaster.pid")
    return int(found.read_text().split()[0])


def _tell(readings: Sequence[Reading]) -> None:
    names = [*readings[0].memory]
    tables = [*readings[-1].tables]
    print(
        f"{'jobs':>9} {'a second':>9} {'waited, ms':>11} {'p99':>7}"
        + "".join(f"{name + ', MiB':>16}" for name in names)
        + "".join(f"{name + ', MiB (dead)':>26}" for name in tables)
    )
    for earlier, later in _spans(readings):
        rate = (later.ended - earlier.ended) / (later.at_s - earlier.at_s)
        line = f"{later.ended:9} {rate:9.0f} {later.waited_ms[0]:11.1f} {later.waited_ms[1]:7.0f}"
        line += "".join(f"{later.memory[name] / _MIB:16.0f}" for name in names)
        for name in tables:
            size, dead = later.tables.get(name, (0, 0.0))
            line += f"{f'{size / _MIB:.0f} ({dead:.0%})':>26}"
        print(line)


def _spans(readings: Sequence[Reading]) -> Iterator[tuple[Reading, Reading]]:
    """Yield the first and last reading of each tenth, or of fewer parts if there are fewer readings."""
    parts = min(_TENTHS, len(readings) - 1)
    places = [round(part * (len(readings) - 1) / parts) for part in range(parts + 1)]
    for first, last in pairwise(places):
        yield readings[first], readings[last]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--minutes", type=float, default=0.0, metavar="N", help="however many jobs that are")
    parser.add_argument("--broker", default="rabbit", choices=SERVERS)
    parser.add_argument("--keep", default="5m", metavar="TIME", help="how long histories are kept")
    return parser.parse_args()


if __name__ == "__main__":
    with run_without_leftovers():
        sys.exit(main())
