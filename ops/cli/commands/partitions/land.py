"""Command ``sluice partitions land``: record that partitions of a table exist that were made outside Sluice.

Jobs that wait for these partitions go on. To record a partition again changes nothing.
"""

import argparse

from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph
from sluice.ops.operations.installation import Installation


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", help="external table")
    parser.add_argument(
        "partition", nargs="+", metavar="P", help="one partition, or a range like 2024-04-01..2024-04-07"
    )


def run(context: CommandContext, options: Options) -> int:
    catalogue = context.catalogue
    new = Installation(context).client.land(catalogue, options.table, options.partition)
    what = "1 partition" if new == 1 else f"{new} partitions"
    is_new = "has landed now and had" if new == 1 else "have landed now and had"
    context.output.answer(
        {"table": options.table, "landed": new}, Paragraph(f"{what} of {options.table} {is_new} not before.")
    )
    return DONE
