"""Command ``sluice bench``: measure the cost of operations on this machine, for Sluice and for other systems."""

import argparse
import os
import platform
from collections.abc import Mapping
from importlib.util import find_spec
from textwrap import fill
from typing import Any

from msgspec.structs import asdict

from sluice.jobs.errors import BadRequest, SluiceError

if find_spec("sluice.ops.bench") is None:
    raise BadRequest(
        "The benchmarks are not part of an installation.",
        advice="Run them in a checkout of Sluice: `make .venv`, then `.venv/bin/sluice bench`.",
    )
from sluice.ops.bench.participants import CONTENDERS, OURS, check
from sluice.ops.bench.sample import Summary, ratio
from sluice.ops.bench.session import Servers, SessionEntry, entries, sit
from sluice.ops.bench.shapes import COURSES, SCALE
from sluice.ops.bench.workloads import WORKLOADS
from sluice.ops.cli.command import DONE, FAILED, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph, Table
from sluice.ops.operations.installation import Installation

#: Width of the lists in the help, and of the names in them, in characters.
_COLUMNS, _NAME_COLUMNS = 100, 22


def options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "\n\n".join(
        [
            _listed("workloads", {name: workload.what for name, workload in WORKLOADS.items()}),
            _listed("worker benchmarks, which need a --broker", COURSES),
            _listed(
                "other libraries, for --against",
                {name: each.what for name, each in CONTENDERS.items() if name != OURS},
            ),
        ]
    )
    parser.add_argument(
        "workload",
        nargs="*",
        metavar="WORKLOAD",
        help="workloads and worker benchmarks; default: all workloads",
    )
    parser.add_argument(
        "--against",
        nargs="+",
        default=[],
        metavar="OTHER",
        help="with worker benchmarks: also run these libraries, in turn and on the same servers; default: none",
    )
    parser.add_argument(
        "--results",
        default="redis://127.0.0.1:6379/9",
        metavar="URL",
        help="Redis database for libraries that store results; default: %(default)s",
    )
    parser.add_argument(
        "--runs",
        type=int,
        choices=range(1, 100),
        default=3,
        metavar="N",
        help="runs of each workload; default: 3",
    )


def run(context: CommandContext, options: Options) -> int:
    """Run the benchmarks. Each run has a temporary database beside the ledger, and the ledger itself is not touched.
    Use a broker that nothing else uses, because the runs use its queues.
    """
    check(options.against)
    wanted = _wanted(options.workload)
    here = Installation(context)
    if not here.shares_a_broker and any(name in COURSES for name in wanted):
        raise BadRequest(
            "The worker benchmarks need a broker that workers share.",
            advice="Name a broker that is not in use: --broker URL.",
        )
    broken: list[str] = []
    found = sit(
        entries(wanted, options.against),
        Servers(here.ledger_url, context.settings.broker_url, options.results),
        runs=options.runs,
        began=lambda entry, turn: _tell(context, entry, turn, options.runs),
        broke_off=lambda entry, error: broken.extend([f"{entry} failed:", *_lines(error)]),
    )
    for each in broken:
        context.output.aside.print(Paragraph(each))
    settings = {
        "cpus": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "scale": SCALE,
    }
    ours = [each for each in found if each.contender == OURS]
    context.output.answer(
        {"settings": settings, "summaries": [_document(each, ours) for each in found]}, _table(found, ours)
    )
    return FAILED if broken else DONE


def _wanted(named: list[str]) -> list[str]:
    """Return the workloads to run. Default: all that need not be named. BadRequest if one does not exist."""
    for name in named:
        if name not in WORKLOADS and name not in COURSES:
            raise BadRequest(f"There is no workload {name!r}; there are {', '.join([*WORKLOADS, *COURSES])}.")
    return named or [name for name, workload in WORKLOADS.items() if not workload.by_name]


def _listed(title: str, told: Mapping[str, str]) -> str:
    lines = (
        fill(f"  {name:<{_NAME_COLUMNS}}{what}", _COLUMNS, subsequent_indent=" " * (_NAME_COLUMNS + 2))
        for name, what in told.items()
    )
    return "\n".join([f"{title}:", *lines])


def _tell(context: CommandContext, entry: SessionEntry, turn: int, runs: int) -> None:
    context.output.aside.print(Paragraph(f"{entry}, run {turn + 1} of {runs}"))


def _lines(error: SluiceError) -> list[str]:
    return (error.where or "").splitlines()


def _document(each: Summary, ours: list[Summary]) -> dict[str, Any]:
    return {**asdict(each), "ours_to_this": ratio(ours, each)}


def _table(found: list[Summary], ours: list[Summary]) -> Table:
    return Table(
        ("workload", "by", "figure", "median", "least", "most", "ratio of Sluice to this"),
        [
            (
                each.workload,
                each.contender or "",
                each.figure,
                *map(_number, (each.median, each.least, each.most)),
                "" if (to_this := _to_others(ours, each)) is None else f"{to_this:.3g}",
            )
            for each in found
        ],
    )


def _to_others(ours: list[Summary], each: Summary) -> float | None:
    return None if each.contender in (None, OURS) else ratio(ours, each)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
