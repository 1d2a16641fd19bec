"""``sluice bench``: what things cost on this machine."""

import argparse
import os
import platform

from jobs.errors import BadRequest
from ops.bench.sample import Summary
from ops.bench.sitting import sit
from ops.bench.workloads import WORKLOADS
from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.exits import DONE
from ops.cli.installation import Installation
from ops.cli.page import Line, Table


def options(parser: argparse.ArgumentParser) -> None:
    told = "; ".join(f"{name}: {workload.what}" for name, workload in WORKLOADS.items())
    parser.add_argument("workload", nargs="*", metavar="WORKLOAD", help=f"all, or some of: {told}")
    parser.add_argument(
        "--runs",
        type=int,
        choices=range(1, 100),
        default=3,
        metavar="N",
        help="of each workload; 3 if not given",
    )


def run(desk: Desk, options: Options) -> int:
    """A scratch database is made beside the ledger for each run; the ledger itself is not touched."""
    for name in options.workload:
        if name not in WORKLOADS:
            raise BadRequest(f"There is no workload {name!r}; there are {', '.join(WORKLOADS)}.")
    found = sit(
        options.workload or WORKLOADS,
        runs=options.runs,
        ledger_url=Installation(desk).ledger_url,
        began=lambda name, turn: desk.output.aside.print(Line(f"{name}, run {turn + 1} of {options.runs}")),
    )
    settings = {"cpus": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version()}
    desk.output.answer({"settings": settings, "summaries": found}, _table(found))
    return DONE


def _table(found: list[Summary]) -> Table:
    return Table(
        ("workload", "figure", "median", "least", "most"),
        [
            (
                each.workload,
                each.figure,
                _number(each.median),
                _number(each.least),
                _number(each.most),
            )
            for each in found
        ],
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
