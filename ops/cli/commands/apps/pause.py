"""Command ``sluice apps pause``: start no job of an app for any submission until it is resumed."""

import argparse

from sluice.actors import audit_results
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph
from sluice.ops.operations.context import whoami
from sluice.ops.operations.installation import Installation


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="+", metavar="APP", help="apps to pause; their running jobs continue to their end"
    )


def run(context: CommandContext, options: Options) -> int:
    if context.settings.apps:
        for app in options.names:
            context.catalogue.app(app)  # UnknownApp if the name is misspelled.
    client = Installation(context).doing("apps pause", {"apps": options.names}, audit_results.apps_paused)
    paused = client.pause_apps(options.names, by=whoami())
    others = [app for app in options.names if app not in paused]
    context.output.answer(
        {"paused": paused},
        *(Paragraph(f"{app} is paused.") for app in paused),
        *(Paragraph(f"{app} was paused before.") for app in others),
    )
    return DONE
