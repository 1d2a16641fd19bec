"""Command ``sluice db announce``: send all notifications again, after a broker was wiped. They are about ready jobs,
executed jobs and unplanned submissions.

The groomer sends them too, but later.
"""

import argparse

from sluice.actors.groomer import redispatch
from sluice.jobs.errors import BadRequest
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph
from sluice.ops.operations.installation import Installation


def options(_: argparse.ArgumentParser) -> None:
    """Add no options."""


def run(context: CommandContext, _: Options) -> int:
    installation = Installation(context)
    if not installation.shares_a_broker:
        raise BadRequest(
            "The in-process broker of another process cannot be reached.",
            where=context.settings.broker_url,
            advice="Name the broker with --broker or SLUICE_BROKER_URL. `sluice up` announces jobs at its start.",
        )
    announced = redispatch.announce_everything(installation.ledger, installation.broker.publish)
    plural = "job was" if announced == 1 else "jobs were"
    context.output.answer({"announced": announced}, Paragraph(f"{announced} {plural} announced again."))
    return DONE
