"""Command ``sluice schedules resume``: continue with the next due times. Due times that passed in the pause are not
made up for.
"""

import argparse

from sluice.actors import audit_results
from sluice.actors.scheduler.manual import resume
from sluice.ledger.reads import schedule_states as reads
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.schedules import known_ids


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", metavar="ID", help="schedules to resume")


def run(context: CommandContext, options: Options) -> int:
    installation = Installation(context)
    ids = known_ids(context, installation.ask(lambda tx: reads.schedules(tx, retired=False)), options.ids)
    ledger = installation.ledger_doing("schedules resume", {"schedules": ids}, audit_results.all_resumed)
    resumed = resume(ledger, ids)
    told = (
        f"{', '.join(resumed)} {'goes' if len(resumed) == 1 else 'go'} on."
        if resumed
        else "No schedule was paused."
    )
    context.output.answer({"resumed": resumed}, Paragraph(told))
    return DONE
