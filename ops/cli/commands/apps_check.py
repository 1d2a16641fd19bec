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
    desk.output.answer({"apps": apps}, Line(f"{len(apps)} {plural}, no faults.", "green"))
    return DONE
