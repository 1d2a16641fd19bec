"""Command ``sluice notifications ls``: list the deliveries that were given up."""

import argparse

from sluice.jobs.programs.errors import one_line
from sluice.ledger.notifications.dead_letters import DeadLetter, dead_letters
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Table
from sluice.ops.operations.installation import Installation
from sluice.ops.text import moment

#: Characters of an error in the table. The JSON has all of it.
ERROR_CHARS_MAX = 200


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-n", "--limit", type=int, default=100, metavar="N", help="maximum number of deliveries; default: 100"
    )


def run(context: CommandContext, options: Options) -> int:
    limit = max(options.limit, 0)
    found = Installation(context).ask(lambda tx: dead_letters(tx, limit))
    context.output.answer(
        [_document(each) for each in found],
        Table(
            ("event", "job", "id", "receiver", "attempts", "given up (UTC)", "error"),
            [_row(each) for each in found],
            prose=True,
            empty="No delivery was given up.",
        ),
    )
    return DONE


def _document(each: DeadLetter) -> dict[str, object]:
    return {
        "id": str(each.event_id),
        "event": each.event,
        "app": each.app,
        "key": each.key,
        "at": each.at,
        "receiver": each.target.label,
        "attempts": each.attempts,
        "error": each.error,
        "given_up_at": each.dead_at,
    }


def _row(each: DeadLetter) -> tuple[str, ...]:
    job, times = f"{each.app}/{each.key}", (str(each.attempts), moment(each.dead_at))
    error = one_line(each.error or "", ERROR_CHARS_MAX)
    return str(each.event), job, str(each.event_id), each.target.label, *times, error
