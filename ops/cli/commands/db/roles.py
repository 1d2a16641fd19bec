"""Command ``sluice db roles``: print SQL that makes a role for each part with only the rights that it needs. It does
not contact a ledger.
"""

import argparse

from sluice.jobs.errors import BadRequest
from sluice.ledger.schema import roles
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Verbatim


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--prefix", default="sluice", help="how their names begin: %(default)s")


def run(context: CommandContext, options: Options) -> int:
    try:
        document = {
            "roles": roles.names(options.prefix),
            "sql": roles.script(options.prefix, context.settings.ledger_schema),
        }
    except ValueError as error:
        raise BadRequest(f"--prefix: {error}.", advice="For example --prefix sluice") from None
    context.output.answer(document, Verbatim(str(document["sql"]).rstrip("\n")))
    return DONE
