"""``sluice apps check``. Loading is checking: every fault is listed by the error."""

import argparse

from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.exits import DONE
from ops.cli.page import Line


def options(_: argparse.ArgumentParser) -> None:
    """It has none of its own."""


def run(desk: Desk, _: Options) -> int:
    apps = list(desk.catalogue)
    plural = "app" if len(apps) == 1 else "apps"
    timed = list(desk.catalogue.schedules)
    told = f", {len(timed)} {'schedule' if len(timed) == 1 else 'schedules'}" if timed else ""
    document = {"apps": apps} | ({"schedules": timed} if timed else {})
    desk.output.answer(document, Line(f"{len(apps)} {plural}{told}, no faults.", "green"))
    return DONE
