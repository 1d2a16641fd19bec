"""``sluice db check``: whether the ledger agrees with itself, and how to repair it. A broken rule is exit code 1."""

import argparse

from ledger.reads.check import breaches
from ops.cli.broken import AGREES, blocks, document
from ops.cli.command import Options
from ops.cli.desk import CommandDesk
from ops.cli.exits import DONE, FAILED
from ops.desk.installation import Installation


def options(_: argparse.ArgumentParser) -> None:
    """It has none of its own."""


def run(desk: CommandDesk, _: Options) -> int:
    found = Installation(desk).ask(breaches)
    desk.output.answer({"breaches": document(found)}, *(blocks(found) if found else [AGREES]))
    return FAILED if found else DONE
