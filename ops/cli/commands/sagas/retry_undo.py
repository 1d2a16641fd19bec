"""Command ``sluice saga retry-undo``: try the failed undo of a saga again."""

import argparse

from sluice.jobs.model.submission import Submission
from sluice.ops.cli.command import Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.commands.submissions.submit import ask
from sluice.ops.cli.parser import job_options
from sluice.ops.cli.submission_options import wait_options
from sluice.ops.operations.context import whoami
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.sagas import fatal_saga


def options(parser: argparse.ArgumentParser) -> None:
    job_options(parser)
    wait_options(parser)


def run(context: CommandContext, options: Options) -> int:
    """Submit the saga again. A submission requests it then, and the user can follow it to its end."""
    installation = Installation(context)
    job = fatal_saga(context, installation, options.app, options.key).job
    again = Submission(app=job.app, key=job.key, rerun="job", user=whoami())
    return ask(context, installation, again, options, did="saga retry-undo")
