"""Command ``sluice db repair``: recompute data that follows from other rows and contradicts them.

Workers may run at the same time. The exit code is 1 if a rule is still broken afterwards.
"""

import argparse

from sluice.ledger.recovery.repairs import repair
from sluice.ops.cli.check_report import AGREES, blocks, document
from sluice.ops.cli.command import DONE, FAILED, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Table
from sluice.ops.operations.installation import Installation


def options(_: argparse.ArgumentParser) -> None:
    """Add no options."""


def run(context: CommandContext, _: Options) -> int:
    installation = Installation(context)
    repaired, left = repair(installation.ledger)
    if repaired:
        installation.record_act("db repair", {}, {"repaired": repaired})
    context.output.answer(
        {"repaired": repaired, "breaches": document(left)},
        Table(("repaired",), [(rule,) for rule in repaired], prose=True),
        *(blocks(left) if left else [AGREES]),
    )
    return FAILED if left else DONE
