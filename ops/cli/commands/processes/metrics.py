"""Command ``sluice metrics``: print the metrics of the console's ``/metrics``, for installations without a console."""

import argparse

from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Verbatim
from sluice.ops.observe.metrics.collect import Metrics
from sluice.ops.operations.installation import Installation

#: Seconds that the command waits for the ledger and for the broker.
PATIENCE_S = 10.0


def options(_: argparse.ArgumentParser) -> None:
    """Add no options."""


def run(context: CommandContext, _: Options) -> int:
    installation = Installation(context)
    # If the ledger is unreachable, the command ends here, with the reason.
    ask = installation.ledger.transact
    metrics = Metrics(context, installation, ask, within_s=PATIENCE_S)
    if context.output.is_document:
        context.output.answer(metrics.documents())
    else:
        context.output.say(Verbatim(metrics.text().rstrip("\n")))
    return DONE
