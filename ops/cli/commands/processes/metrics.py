"""Command ``sluice metrics``: print the metrics of the console's ``/metrics``, for installations without a console."""

import argparse

from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Verbatim
from sluice.ops.observe.metrics.collect import Metrics
from sluice.ops.operations.installation import Installation


def options(_: argparse.ArgumentParser) -> None:
    """Add no options."""


def run(context: CommandContext, _: Options) -> int:
    metrics = Metrics(context, Installation(context))
    if context.output.as_json:
        context.output.answer(metrics.documents())
    else:
        context.output.say(Verbatim(metrics.text().rstrip("\n")))
    return DONE
