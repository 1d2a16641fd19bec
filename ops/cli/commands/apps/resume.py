"""Command ``sluice apps resume``: let the jobs of a paused app start."""

import argparse

from sluice.actors import audit_results
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph
from sluice.ops.operations.installation import Installation


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="+", metavar="APP", help="apps to resume, with or without a definition"
    )


def run(context: CommandContext, options: Options) -> int:
    client = Installation(context).doing("apps resume", {"apps": options.names}, audit_results.all_resumed)
    resumed = client.resume_apps(options.names)
    others = [app for app in options.names if app not in resumed]
    context.output.answer(
        {"resumed": resumed},
        *(Paragraph(f"{app} is resumed.") for app in resumed),
        *(Paragraph(f"{app} is not paused.") for app in others),
    )
    return DONE
