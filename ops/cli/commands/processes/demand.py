"""Command ``sluice demand``: show how many jobs could run at once, by app. Autoscalers use its JSON."""

import argparse

from sluice.jobs.errors import BadRequest
from sluice.jobs.states import State
from sluice.ledger.reads.backlog import HORIZON_S, Demand
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.output import watch_option
from sluice.ops.cli.page import Block, Table
from sluice.ops.cli.submission_options import duration_option
from sluice.ops.documents.backlog import WorkerDemand, wanted
from sluice.ops.operations.installation import Installation


def options(parser: argparse.ArgumentParser) -> None:
    watch_option(parser)
    parser.add_argument("app", nargs="*", help="apps to count; default: all apps")
    parser.add_argument(
        "--horizon",
        type=duration_option,
        default=HORIZON_S,
        metavar="TIME",
        help=f"also count jobs that will be ready within this time; default: {HORIZON_S:g}s",
    )


def run(context: CommandContext, options: Options) -> int:
    apps = list(dict.fromkeys(options.app))
    catalogue = context.catalogue if context.settings.apps else None
    if catalogue is not None and (unknown := [app for app in apps if app not in catalogue]):
        raise BadRequest(
            f"There is no app {', '.join(unknown)}.", advice="`sluice apps show` lists the apps."
        )
    known = catalogue.queues if catalogue is not None and not apps else ()
    found = Installation(context).ask(lambda tx: wanted(tx, apps, known=known, horizon_s=options.horizon))
    context.output.answer(found, _table(found))
    return DONE


def _table(found: WorkerDemand) -> Block:
    return Table(
        ("app", "demand", State.READY.value, State.RUNNING.value, "soon", "blocked", "external"),
        [_row(each) for each in found.apps],
        empty="There is nothing to do.",
    )


def _row(each: Demand) -> tuple[object, ...]:
    most = f"{each.demand} or more" if each.at_least else each.demand
    return each.app, most, each.ready, each.running, each.soon, each.blocked, each.elsewhere
