"""``sluice submissions``: what was asked for, and what came of it."""

import argparse

from jobs.errors import BadRequest
from ledger.reads import progress
from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.page import Table
from ops.cli.result import as_document, summary
from ops.times import moment


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="this one alone, with what came of its jobs")
    parser.add_argument("--limit", type=int, default=30, metavar="N", help="at most so many, 30 by default")


def run(desk: Desk, options: Options) -> int:
    if options.id is None:
        found = desk.ask(lambda tx: progress.recent(tx, max(options.limit, 0)))
        desk.output.answer(found, _list(found))
        return 0
    result = desk.ask(lambda tx: progress.result(tx, options.id))
    if result is None:
        raise BadRequest(
            f"There is no submission {options.id}.", advice="`sluice submissions` lists what there is."
        )
    desk.output.answer(as_document(result), *summary(result))
    return 0


def _list(found: list[progress.Status]) -> Table:
    rows = [
        (each.id, each.state, moment(each.received_at), f"{each.asks_for}{': ' if each.reason else ''}{each.reason or ''}")
        for each in found
    ]
    return Table(("submission", "state", "received (UTC)", "asks for"), rows, prose=True, empty="No submissions.")
