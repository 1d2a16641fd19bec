"""Command ``sluice console``: serve the page and its HTTP calls until it is stopped."""

import argparse
import logging

from sluice.actors.worker.definitions import DefinitionReloader
from sluice.actors.worker.startup import log_start
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.local_worker import told_to_stop
from sluice.ops.cli.page import Paragraph
from sluice.ops.console.background import console, keys_for
from sluice.ops.console.server import LISTEN, read_place
from sluice.ops.operations.installation import Installation

_LOG = logging.getLogger("sluice.console")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--listen",
        default=LISTEN,
        metavar="HOST:PORT",
        help="address of the console; default: %(default)s; other machines need SLUICE_CONSOLE_TOKEN",
    )


def run(context: CommandContext, options: Options) -> int:
    place = read_place(options.listen)
    keys = keys_for(place, context.settings)
    installation = Installation(context)
    installation.require_own_broker()
    with told_to_stop() as stop, console(context, installation, place, keys.gate) as server:
        _look_out(context)
        context.log_as_service()
        known = context.definitions.known if context.settings.apps else None
        log_start("console", context.settings, installation.ledger.url, known, f"listening at {server.place}")
        context.output.say(
            Paragraph(f"Listening at {keys.address(server.place)}"), Paragraph("Ctrl-C ends it.")
        )
        stop.wait()
    _LOG.info("stopped")
    context.output.answer({"listened": str(server.place)}, Paragraph("Stopped."))
    return DONE


def _look_out(context: CommandContext) -> None:
    """Load changed definitions in the background until the command ends. In ``sluice up`` the worker does this."""
    if context.settings.apps:
        reloader = DefinitionReloader(context.definitions, None)
        reloader.start()
        context.closing(reloader.end)
