"""``sluice metrics``: what the console answers at ``/metrics``, for whoever has no console."""

import argparse

from ops.cli.command import Options
from ops.cli.desk import CommandDesk
from ops.cli.exits import DONE
from ops.cli.page import Verbatim
from ops.desk.installation import Installation
from ops.metrics.desk import Metrics


def options(_: argparse.ArgumentParser) -> None:
    """It has none of its own."""


def run(desk: CommandDesk, _: Options) -> int:
    metrics = Metrics(desk, Installation(desk))
    if desk.output.as_json:
        desk.output.answer(metrics.documents())
    else:
        desk.output.say(Verbatim(metrics.text().rstrip("\n")))
    return DONE
