"""Command ``sluice console``: serve the page and its HTTP calls until it is stopped."""

import argparse

from sluice.actors.worker.definitions import DefinitionReloader
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.local_worker import told_to_stop
from sluice.ops.cli.page import Paragraph
from sluice.ops.console.background import console, keys_for
from sluice.ops.console.server import LISTEN, read_place
from sluice.ops.operations.installation import Installation


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--listen",
        default=LISTEN,
        metavar="HOST:PORT",
        help="address of the console; default: %(default)s; other machines need SLUICE_CONSOLE_TOKEN",
    )


def run(desk: CommandContext, options: Options) -> int:
    place = read_place(options.listen)
    keys = keys_for(place, desk.settings)
    installation = Installation(desk)
    installation.require_own_broker()
    with told_to_stop() as stop, console(desk, installation, place, keys.gate) as server:
        _look_out(desk)
        desk.output.say(Paragraph(f"Listening at {keys.address(server.place)}"), Paragraph("Ctrl-C ends it."))
        stop.wait()
    desk.output.answer({"listened": str(server.place)}, Paragraph("Stopped."))
    return DONE


def _look_out(desk: CommandContext) -> None:
    """Load changed definitions in the background until the command ends. In ``sluice up`` the worker does this."""
    if desk.settings.apps:
        reloader = DefinitionReloader(desk.definitions, None)
        reloader.start()
        desk.closing(reloader.end)
