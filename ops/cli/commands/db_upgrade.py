"""``sluice db upgrade``: bring the ledger to this code's schema."""

import argparse

from sluice.ledger import migrate
from sluice.ops.cli.command import Options
from sluice.ops.cli.desk import CommandDesk
from sluice.ops.cli.exits import DONE
from sluice.ops.cli.page import Line
from sluice.ops.desk.installation import Installation


def options(_: argparse.ArgumentParser) -> None:
    """It has none of its own."""


def run(desk: CommandDesk, _: Options) -> int:
    revision = migrate.upgrade(Installation(desk).ledger_url)
    desk.output.answer({"revision": revision}, Line(f"The ledger is at {revision}.", "green"))
    return DONE
