"""``sluice resume``: let a paused submission go on."""

import argparse

from jobs.errors import BadRequest
from ledger.reads import progress
from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.exits import DONE
from ops.cli.installation import Installation
from ops.cli.page import Line


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("submission", metavar="SUBMISSION", help="its id")
    parser.add_argument("key", nargs="?", metavar="KEY", help=argparse.SUPPRESS)


def run(desk: Desk, options: Options) -> int:
    installation = Installation(desk)
    if options.key is not None or _names_a_job(installation, options.submission):
        raise BadRequest(
            "Resuming one job is not available yet: only sagas are ever suspended, and there are none.",
            advice="`sluice resume SUBMISSION` lets a submission go on that was paused.",
        )
    let_go = installation.client.resume(options.submission)
    go = "1 job goes" if let_go == 1 else f"{let_go} jobs go"
    desk.output.answer(
        {"resumed": options.submission, "let_go": let_go},
        Line(f"Submission {options.submission} is resumed; {go} on."),
    )
    return DONE


def _names_a_job(installation: Installation, word: str) -> bool:
    """``APP/KEY``; but the id of a submission may have a stroke in it too."""
    return "/" in word and installation.ask(lambda tx: progress.status(tx, word)) is None
