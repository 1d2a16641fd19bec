"""Command ``sluice schedules pause``: let due times pass until the schedule is resumed."""

import argparse

from sluice.actors import audit_results
from sluice.actors.scheduler.manual import pause
from sluice.ledger.reads import schedule_states as reads
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.schedules import known_ids


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "ids", nargs="+", metavar="ID", help="schedules to pause; their existing submissions continue"
    )


def run(context: CommandContext, options: Options) -> int:
    installation = Installation(context)
    ids = known_ids(context, installation.ask(lambda tx: reads.schedules(tx, retired=False)), options.ids)
    catalogue = context.catalogue if context.settings.apps else None
    ledger = installation.ledger_doing("schedules pause", {"schedules": ids}, audit_results.schedules_paused)
    paused = pause(ledger, catalogue, ids)
    others = [id_ for id_ in ids if id_ not in paused]
    context.output.answer(
        {"paused": paused},
        *(Paragraph(f"{id_} is paused.") for id_ in ids if id_ in paused),
        *(Paragraph(f"{id_} was paused before.") for id_ in others),
    )
    return DONE
