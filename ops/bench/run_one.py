"""``python -m sluice.ops.bench.run_one RUN``: perform one run in a process of its own, and print its figures. RUN is
JSON.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec import Struct

from sluice.ops.bench.environment import Ground
from sluice.ops.bench.participants import CONTENDERS
from sluice.ops.bench.sample import Figures
from sluice.ops.bench.workloads import WORKLOADS


class Run(Struct, frozen=True):
    """Description of one run. ``contender`` is None for a workload of ``WORKLOADS``."""

    name: str
    contender: str | None
    ledger_url: str
    broker_url: str
    results_url: str


def figures(run: Run) -> Figures:
    if run.contender is None:
        return WORKLOADS[run.name].run(run.ledger_url)
    with TemporaryDirectory() as folder:
        ground = Ground(run.ledger_url, run.broker_url, run.results_url, Path(folder))
        return CONTENDERS[run.contender].courses[run.name](ground)


if __name__ == "__main__":
    run = msgspec.json.decode(sys.argv[1], type=Run)
    sys.stdout.write(msgspec.json.encode(figures(run)).decode() + "\n")
