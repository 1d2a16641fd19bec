"""Command ``sluice db check``: check the consistency of the ledger, and show how to repair it. The exit code is 1 if a
rule is broken.
"""

import argparse

from sluice.ledger.recovery.invariants import breaches
from sluice.ops.cli.check_report import AGREES, blocks, document
from sluice.ops.cli.command import DONE, FAILED, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.operations.installation import Installation


def options(_: argparse.ArgumentParser) -> None:
    """Add no options."""


def run(context: CommandContext, _: Options) -> int:
    found = Installation(context).ask(breaches)
    context.output.answer({"breaches": document(found)}, *(blocks(found) if found else [AGREES]))
    return FAILED if found else DONE
