"""``python -m sluice.ops.bench.run_one RUN``: perform one run in a process of its own, and print its figures. RUN is
JSON.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec import Struct

from sluice.ops.bench.environment import BenchEnvironment
from sluice.ops.bench.participants import CONTENDERS
from sluice.ops.bench.sample import Figures
from sluice.ops.bench.workloads import WORKLOADS


class BenchRun(Struct, frozen=True):
    """Description of one run. ``contender`` is None for a workload of ``WORKLOADS``."""

    name: str
    contender: str | None
    ledger_url: str
    broker_url: str
    results_url: str


def figures(run: BenchRun) -> Figures:
    if run.contender is None:
        return WORKLOADS[run.name].run(run.ledger_url)
    with TemporaryDirectory() as folder:
        ground = BenchEnvironment(run.ledger_url, run.broker_url, run.results_url, Path(folder))
        return CONTENDERS[run.contender].courses[run.name](ground)


if __name__ == "__main__":
    run = msgspec.json.decode(sys.argv[1], type=BenchRun)
    sys.stdout.write(msgspec.json.encode(figures(run)).decode() + "\n")
