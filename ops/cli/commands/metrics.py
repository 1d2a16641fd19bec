"""Command ``sluice metrics``: print the metrics of the console's ``/metrics``, for installations without a console."""

import argparse

from sluice.ops.cli.command import Options
from sluice.ops.cli.desk import CommandDesk
from sluice.ops.cli.exits import DONE
from sluice.ops.cli.page import Verbatim
from sluice.ops.desk.installation import Installation
from sluice.ops.metrics.desk import Metrics


def options(_: argparse.ArgumentParser) -> None:
    """Add no options."""


def run(desk: CommandDesk, _: Options) -> int:
    metrics = Metrics(desk, Installation(desk))
    if desk.output.as_json:
        desk.output.answer(metrics.documents())
    else:
        desk.output.say(Verbatim(metrics.text().rstrip("\n")))
    return DONE
