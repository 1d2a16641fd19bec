"""Command ``sluice pause``: start no more jobs that only this submission requests, until it is resumed."""

import argparse

from sluice.actors import audit_results
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph
from sluice.ops.operations.installation import Installation


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "submission",
        metavar="SUBMISSION",
        help="id of the submission; its running jobs continue to their end",
    )


def run(context: CommandContext, options: Options) -> int:
    about = {"submission": options.submission}
    held_back = Installation(context).doing("pause", about, audit_results.paused).pause(options.submission)
    jobs = "1 job is" if held_back == 1 else f"{held_back} jobs are"
    context.output.answer(
        {"paused": options.submission, "held_back": held_back},
        Paragraph(f"Submission {options.submission} is paused; {jobs} held back."),
    )
    return DONE
