"""Command ``sluice audit``: list the actions of the console and of commands, with the actor of each."""

import argparse

import msgspec
from msgspec.structs import asdict

from sluice.ledger.reads.audit_log import AuditEntry, acts
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Table
from sluice.ops.cli.submission_options import past_option
from sluice.ops.operations.installation import Installation
from sluice.ops.text import moment


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--since",
        type=past_option,
        metavar="T",
        help="only actions since this; a time, or an age like 10m; default: all",
    )
    parser.add_argument(
        "-n", "--limit", type=int, default=100, metavar="N", help="maximum number of actions; default: 100"
    )


def run(context: CommandContext, options: Options) -> int:
    limit = max(options.limit, 0)
    found = Installation(context).ask(lambda tx: acts(tx, since=options.since, limit=limit))
    documents = [{word: value for word, value in asdict(each).items() if word != "id"} for each in found]
    context.output.answer(
        documents,
        Table(
            ("at (UTC)", "actor", "action", "target", "result"),
            [_row(each) for each in found],
            prose=True,
            empty="No action was taken.",
        ),
    )
    return DONE


def _row(each: AuditEntry) -> tuple[str, ...]:
    return moment(each.at), each.actor, each.action, _words(each.target), _words(each.result)


def _words(told: object) -> str:
    return msgspec.json.encode(told).decode()
