"""``sluice db check``: whether the ledger agrees with itself. A broken rule is exit code 1."""

import argparse

from ledger.reads.check import breaches
from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.exits import DONE, FAILED
from ops.cli.installation import Installation
from ops.cli.page import Line, Table


def options(_: argparse.ArgumentParser) -> None:
    """It has none of its own."""


def run(desk: Desk, _: Options) -> int:
    found = Installation(desk).ask(breaches)
    rows = [(each.rule, ", ".join(map(str, each.rows))) for each in found]
    good = Line("The ledger agrees with itself.", "green")
    desk.output.answer(
        {"breaches": found}, Table(("broken rule", "rows"), rows, prose=True) if found else good
    )
    return FAILED if found else DONE
