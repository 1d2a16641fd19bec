"""Command ``sluice notifications retry``: send events again after their delivery was given up."""

import argparse
from uuid import UUID

from sluice.actors import audit_results
from sluice.jobs.errors import BadRequest
from sluice.ledger.notifications.dead_letters import send_again
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph
from sluice.ops.operations.installation import Installation


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "ids", nargs="*", metavar="ID", help="ids of events, as `notifications ls` lists them"
    )
    parser.add_argument("--all", action="store_true", help="send all events again that were given up")


def run(context: CommandContext, options: Options) -> int:
    if bool(options.ids) == options.all:
        raise BadRequest("Name the events, or give --all.", advice="`sluice notifications ls` lists them.")
    events = None if options.all else [_event(text) for text in options.ids]
    about = {"all": True} if events is None else {"events": [str(each) for each in events]}
    ledger = Installation(context).ledger_doing("notifications retry", about, audit_results.sent_again)
    count = ledger.transact(lambda tx: send_again(tx, events))
    sentence = f"{count} {'delivery is' if count == 1 else 'deliveries are'} attempted again."
    context.output.answer({"again": count}, Paragraph(sentence))
    return DONE


def _event(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise BadRequest(
            f"{text!r} is not the id of an event.", advice="`sluice notifications ls` lists them."
        ) from None
