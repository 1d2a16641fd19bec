"""``sluice db upgrade``: bring the ledger to this code's schema."""

import argparse

from ledger import migrate
from ops.cli.command import Options
from ops.cli.desk import CommandDesk
from ops.cli.exits import DONE
from ops.cli.page import Line
from ops.desk.installation import Installation


def options(_: argparse.ArgumentParser) -> None:
    """It has none of its own."""


def run(desk: CommandDesk, _: Options) -> int:
    revision = migrate.upgrade(Installation(desk).ledger_url)
    desk.output.answer({"revision": revision}, Line(f"The ledger is at {revision}.", "green"))
    return DONE
