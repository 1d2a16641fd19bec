"""Command ``sluice db upgrade``: migrate the ledger to the schema of this version."""

import argparse

from sluice.ledger.schema import migrate
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph
from sluice.ops.operations.installation import Installation


def options(_: argparse.ArgumentParser) -> None:
    """Add no options."""


def run(context: CommandContext, _: Options) -> int:
    revision = migrate.upgrade(Installation(context).ledger_url)
    context.output.answer({"revision": revision}, Paragraph(f"The ledger is at {revision}.", "green"))
    return DONE
