"""Command ``sluice partitions land``: record that partitions of a table exist that were made outside Sluice.

Jobs that wait for these partitions go on. To record a partition again changes nothing. With ``--again``, the partitions
that were made from it become stale.
"""

import argparse
from collections.abc import Iterator

from sluice.actors import audit_results
from sluice.actors.client import Landing
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Block, Paragraph
from sluice.ops.operations.installation import Installation


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", help="external table")
    parser.add_argument(
        "partition", nargs="+", metavar="P", help="one partition, or a range like 2024-04-01..2024-04-07"
    )
    parser.add_argument(
        "--by",
        metavar="NAME=VALUE",
        help="slice of a table with a second dimension, like store=graz; default: none",
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="existing ones have new contents: all partitions that were made from them become stale",
    )


def run(context: CommandContext, options: Options) -> int:
    _ = context.catalogue  # Definitions that cannot be read are reported before a ledger is made.
    name = f"{options.table}[{options.by}]" if options.by else options.table
    about = {"table": name, "partitions": options.partition[: audit_results.NAMED_MAX]}
    client = Installation(context).doing("land", about, audit_results.landed)
    landing = client.land(name, options.partition, again=options.again)
    document = {"table": name, "landed": landing.new}
    if options.again:
        document |= {"again": landing.again, "stale": landing.stale}
    context.output.answer(document, *_page(name, landing, again=options.again))
    return DONE


def _page(table: str, landing: Landing, *, again: bool) -> Iterator[Block]:
    if landing.new or not again:
        is_new = "has landed now and had" if landing.new == 1 else "have landed now and had"
        yield Paragraph(f"{_counted(landing.new)} of {table} {is_new} not before.")
    if again:
        stale = ", ".join(f"{count} of {name}" for name, count in landing.stale.items())
        has = "has" if landing.again == 1 else "have"
        yield Paragraph(f"{_counted(landing.again)} of {table} {has} landed again.")
        yield Paragraph(f"Stale now: {stale or 'nothing'}.")
    if landing.stale:
        yield Paragraph("`sluice partitions restate` makes stale partitions again.", "bright_black")


def _counted(partitions: int) -> str:
    return "1 partition" if partitions == 1 else f"{partitions} partitions"
