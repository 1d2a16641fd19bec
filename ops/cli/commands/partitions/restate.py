"""Command ``sluice partitions restate``: make stale partitions again.

A partition is stale if a partition that it was made from landed again, or is stale itself. There is one submission for
each app that fills a table with stale partitions.
"""

import argparse

from sluice.actors import audit_results
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.follow import watch
from sluice.ops.cli.page import Paragraph
from sluice.ops.cli.submission_options import by_of, by_option
from sluice.ops.operations.installation import Installation


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "table",
        nargs="?",
        help="only partitions that are made from this table, or by its app; default: all tables",
    )
    parser.add_argument(
        "partition",
        nargs="*",
        metavar="P",
        help="only the data made from these partitions of the table, like 2024-04-01..2024-04-07; default: all",
    )
    by_option(parser, "with a table: only the data made from these slices of it; default: all slices")
    parser.add_argument("--wait", action="store_true", help="wait for the end and show the progress")


def run(context: CommandContext, options: Options) -> int:
    installation = Installation(context)
    by = by_of(options)
    about = {"table": options.table, "partitions": options.partition[: audit_results.NAMED_MAX]}
    if by is not None:
        about["by"] = {name: [*values] for name, values in by.items()}
    client = installation.doing("restate", about, audit_results.restated)
    ids = client.restate(options.table, options.partition, by=by)
    if options.wait and ids:
        return max(watch(context, installation, id_) for id_ in ids)
    pages = [Paragraph(id_) for id_ in ids] or [Paragraph("No partition is stale.", "bright_black")]
    context.output.answer({"submissions": ids}, *pages)
    return DONE
