"""Command ``sluice up``: run everything in one process, including the console, until it is stopped. With --drain it
ends when no work is left.
"""

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from msgspec.structs import replace

from sluice.jobs.errors import Unreachable
from sluice.jobs.observe.log_context import RunReports
from sluice.jobs.observe.outages import missed
from sluice.jobs.text.server_address import without_password
from sluice.jobs.text.units import counted
from sluice.ledger.reads.quiescence import idle
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.local_worker import threads_option, told_to_stop, working
from sluice.ops.cli.page import Paragraph
from sluice.ops.console.background import ConsoleKeys, console, keys_for
from sluice.ops.console.server import LISTEN, ListenAddress, PlaceTaken, read_place
from sluice.ops.operations.installation import Installation
from sluice.ops.text import span

LOOK_EVERY_S = 0.3


def options(parser: argparse.ArgumentParser) -> None:
    threads_option(parser)
    parser.add_argument("--drain", action="store_true", help="exit when nothing is left to do")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--listen",
        metavar="HOST:PORT",
        help=f"address of the console; default: {LISTEN}, or no console with --drain",
    )
    where.add_argument("--no-console", action="store_true", help="do not serve the console")


def run(context: CommandContext, options: Options) -> int:
    if context.settings.log == "json":
        context.log_as_service()
    place = _place(options)
    keys = None if place is None else keys_for(place, context.settings)
    facts = {"apps": len(context.catalogue), "ledger": _ledger(context), "broker": _broker(context)}
    apps = counted(len(context.catalogue), "app")
    context.output.say(
        Paragraph(f"{apps}; ledger: {facts['ledger']}; broker: {facts['broker']}."),
        Paragraph("It ends when nothing is left to do." if options.drain else "Ctrl-C ends it."),
    )
    installation = Installation(context, works=True)
    with (
        told_to_stop() as stop,
        working(
            replace(context.settings, run_reports=RunReports(logged="all")),
            context.definitions,
            installation.ledger,
            threads=options.threads,
        ),
        _console(context, installation, place, keys) as listened,
    ):
        if listened is not None and keys is not None:
            context.output.say(Paragraph(f"The console is at {keys.address(listened)}"))
        while not stop.wait(LOOK_EVERY_S):
            if options.drain and _is_idle(context, installation):
                break
        if stop.is_set():
            grace = span(context.settings.grace_s)
            context.output.say(
                Paragraph(f"Stopping: running jobs get {grace}, unless Ctrl-C is pressed again.")
            )
    ended = "stopped" if stop.is_set() else "drained"
    context.output.answer(
        {**facts, "console": listened and str(listened), "ended": ended},
        Paragraph("Stopped." if stop.is_set() else "Nothing is left to do."),
    )
    return DONE


def _place(options: Options) -> ListenAddress | None:
    """Return the address of the console. With --drain there is no console, unless ``--listen`` is given."""
    if options.no_console or (options.drain and options.listen is None):
        return None
    return read_place(options.listen or LISTEN)


@contextmanager
def _console(
    context: CommandContext, working: Installation, place: ListenAddress | None, keys: ConsoleKeys | None
) -> Iterator[ListenAddress | None]:
    """Yield the address of the console, which is served during the block. If the address is taken, the work goes on
    without a console.
    """
    with ExitStack() as opened:
        listened = None
        if place is not None and keys is not None:
            # The worker's connections are tuned for reading a few jobs at a time. The console reads many, so it has its
            # own.
            beside = Installation(context, beside=working)
            try:
                listened = opened.enter_context(console(context, beside, place, keys.gate)).place
            except PlaceTaken as error:
                context.output.note(
                    Paragraph(f"{error.what} No console is served; set --listen to another address.")
                )
        yield listened


def _is_idle(context: CommandContext, installation: Installation) -> bool:
    """Return whether no work is left. False if the ledger does not answer, because it may come back."""
    try:
        return installation.ask(lambda tx: idle(tx, context.catalogue.sources))
    except Unreachable as error:
        missed(error, "checks for remaining work repeated")
        return False


def _ledger(context: CommandContext) -> str:
    url = context.settings.ledger_url
    return f"embedded under {context.settings.home}" if url is None else without_password(url)


def _broker(context: CommandContext) -> str:
    return without_password(context.settings.broker_url)
