"""``sluice db check``: whether the ledger agrees with itself, and how to repair it. A broken rule is exit code 1."""

import argparse

from sluice.ledger.reads.check import breaches
from sluice.ops.cli.broken import AGREES, blocks, document
from sluice.ops.cli.command import Options
from sluice.ops.cli.desk import CommandDesk
from sluice.ops.cli.exits import DONE, FAILED
from sluice.ops.desk.installation import Installation


def options(_: argparse.ArgumentParser) -> None:
    """It has none of its own."""


def run(desk: CommandDesk, _: Options) -> int:
    found = Installation(desk).ask(breaches)
    desk.output.answer({"breaches": document(found)}, *(blocks(found) if found else [AGREES]))
    return FAILED if found else DONE
