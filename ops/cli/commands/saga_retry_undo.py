"""``sluice saga retry-undo``: have the undo that failed of a saga tried again."""

import argparse

from sluice.jobs.submission import Submission
from sluice.ops.cli.command import Options
from sluice.ops.cli.commands.submit import ask
from sluice.ops.cli.desk import CommandDesk
from sluice.ops.cli.parsing import job_options
from sluice.ops.desk.installation import Installation
from sluice.ops.desk.sagas import fatal_saga
from sluice.ops.whoami import whoami


def options(parser: argparse.ArgumentParser) -> None:
    job_options(parser)
    parser.add_argument("--wait", action="store_true", help="until it has ended")


def run(desk: CommandDesk, options: Options) -> int:
    """It is a submission like any other, so that the saga is wanted by somebody and can be seen to its end."""
    installation = Installation(desk)
    job = fatal_saga(desk, installation, options.app, options.key).job
    again = Submission(app=job.app, key=job.key, rerun="job", user=whoami())
    return ask(desk, installation, again, wait=options.wait)
