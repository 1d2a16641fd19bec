"""Command ``sluice submissions``: list the submissions, or show one with the outcomes of its jobs."""

import argparse
from collections.abc import Iterator

from sluice.broker.messages import PLANNER
from sluice.jobs.errors import BadRequest
from sluice.ledger.reads import submission_progress
from sluice.ledger.reads.submission_progress import progress, work
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.output import watch_option
from sluice.ops.cli.page import Table
from sluice.ops.cli.submission_result import as_document, summary
from sluice.ops.operations.installation import Installation
from sluice.ops.text import moment


def options(parser: argparse.ArgumentParser) -> None:
    watch_option(parser)
    parser.add_argument(
        "id",
        nargs="?",
        metavar="ID",
        help="show this submission with the outcomes of its jobs; default: list all",
    )
    parser.add_argument(
        "-n", "--limit", type=int, default=30, metavar="N", help="maximum number of submissions; default: 30"
    )


def run(context: CommandContext, options: Options) -> int:
    return _list(context, options.limit) if options.id is None else _one(context, options.id)


def _list(context: CommandContext, limit: int) -> int:
    found = Installation(context).ask(lambda tx: submission_progress.recent(tx, max(limit, 0)))
    rows = [(each.id, _state(each), moment(each.received_at), _what(each)) for each in found]
    headings = ("submission", "state", "received (UTC)", "requests")
    context.output.answer(found, Table(headings, rows, prose=True, empty="No submissions."))
    return DONE


def _one(context: CommandContext, id_: str) -> int:
    installation = Installation(context)
    found = installation.ask(lambda tx: progress(tx, id_, planner_queue=PLANNER))
    if found is None:
        raise BadRequest(
            f"There is no submission {id_}.", advice="`sluice submissions` lists the submissions."
        )
    took = installation.ask(lambda tx: work(tx, found.status.number))
    context.output.answer(as_document(found), *summary(found, took))
    return DONE


def _state(status: submission_progress.SubmissionStatus) -> str:
    return f"{status.state}, paused" if status.is_paused else status.state


def _what(status: submission_progress.SubmissionStatus) -> str:
    if status.key is not None:
        asked = f"{status.app}/{status.key}"
    elif status.start is not None:
        asked = f"{status.app} from {status.start} to {status.end}"
    else:
        asked = f"{status.keys} jobs of {status.app}" if status.keys else status.app
    asked = " ".join([asked, *_how(status)])
    return f"{asked}: {status.reason}" if status.reason else asked


def _how(status: submission_progress.SubmissionStatus) -> Iterator[str]:
    if status.mode:
        yield f"in mode {status.mode}"
    if status.branch:
        yield f"on branch {status.branch}"
