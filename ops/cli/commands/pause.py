"""``sluice pause``: begin nothing more that a submission alone wants, until it is resumed."""

import argparse

from ops.cli.command import Options
from ops.cli.desk import CommandDesk
from ops.cli.exits import DONE
from ops.cli.page import Line
from ops.desk.installation import Installation


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("submission", metavar="SUBMISSION", help="its id; what runs goes on to its end")


def run(desk: CommandDesk, options: Options) -> int:
    held_back = Installation(desk).client.pause(options.submission)
    jobs = "1 job is" if held_back == 1 else f"{held_back} jobs are"
    desk.output.answer(
        {"paused": options.submission, "held_back": held_back},
        Line(f"Submission {options.submission} is paused; {jobs} held back."),
    )
    return DONE
