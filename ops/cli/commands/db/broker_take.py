"""Command ``sluice broker take``: make the virtual host or Redis database belong to this installation.

Use it for a ledger that replaces another one. Stop the processes of the other installation first, because they notice
the change only when they connect again.
"""

import argparse

from sluice.broker.owner import InstallationOwner
from sluice.jobs.errors import BadRequest
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph
from sluice.ops.operations.installation import Installation


def options(_: argparse.ArgumentParser) -> None:
    """Add no options."""


def run(context: CommandContext, _: Options) -> int:
    installation = Installation(context)
    owner = installation.owner
    if owner is None:
        raise BadRequest(
            "There is no broker that other installations could share.",
            advice="Set SLUICE_BROKER_URL, or give --broker URL.",
        )
    found = installation.broker.take()
    before = InstallationOwner.read(found) if found else None
    if before is None:
        said = "The broker had no owner, and belongs to this installation now."
    elif before.id == owner.id:
        said = "The broker belongs to this installation already."
    else:
        said = f"The broker belonged to the ledger {before}, and belongs to this installation now."
    document = {"owner": {"id": owner.id, "ledger": owner.ledger}, "before": None}
    if before is not None:
        document["before"] = {"id": before.id, "ledger": before.ledger}
    context.output.answer(document, Paragraph(said, "green"))
    return DONE
