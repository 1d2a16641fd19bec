"""``sluice apps resume``: let the jobs of a paused app begin."""

import argparse

from ops.cli.command import Options
from ops.cli.desk import CommandDesk
from ops.cli.exits import DONE
from ops.cli.page import Line
from ops.desk.installation import Installation


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="APP", help="also one that no definition has any more")


def run(desk: CommandDesk, options: Options) -> int:
    resumed = Installation(desk).client.resume_apps(options.names)
    others = [app for app in options.names if app not in resumed]
    desk.output.answer(
        {"resumed": resumed},
        *(Line(f"{app} is resumed.") for app in resumed),
        *(Line(f"{app} is not paused.") for app in others),
    )
    return DONE
