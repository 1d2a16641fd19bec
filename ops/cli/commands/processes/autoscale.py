"""Command ``sluice autoscale``: keep as many workers on this machine as there is work for, within bounds."""

import argparse
import os
from contextlib import suppress
from functools import partial

from sluice.actors.settings.settings import hand_on
from sluice.jobs.errors import BadSetting
from sluice.jobs.text.units import duration_s
from sluice.ops.autoscale.controller import Autoscaler, ScaledTarget, command
from sluice.ops.autoscale.decision import ScalingSettings
from sluice.ops.autoscale.orphan_guard import Guard
from sluice.ops.autoscale.targets import ScalingTarget, read_watches
from sluice.ops.autoscale.workers import LocalWorkers
from sluice.ops.cli.command import DONE, INTERRUPTED, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.local_worker import told_to_stop
from sluice.ops.cli.page import Paragraph
from sluice.ops.operations.installation import Installation


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--queue",
        action="append",
        default=[],
        metavar="APP,…=N..M",
        help="from N to M workers for these queues; may be repeated",
    )
    parser.add_argument(
        "--threads",
        type=_positive,
        default=4,
        help="jobs that run at once in each process; default: %(default)s",
    )
    parser.add_argument(
        "--processes", type=_positive, default=1, help="processes of each worker; default: %(default)s"
    )
    parser.add_argument(
        "--cool-down",
        type=_seconds,
        default=120.0,
        metavar="TIME",
        help="stop a worker only if it was not needed for this time; default: 2m",
    )
    parser.add_argument(
        "--every",
        type=_seconds,
        default=5.0,
        metavar="TIME",
        help="time between checks of the demand; default: 5s",
    )


def run(context: CommandContext, options: Options) -> int:
    settings = context.settings
    watches = read_watches(options.queue, context.catalogue)
    installation = Installation(context)
    if settings.ledger_url is None or not installation.shares_a_broker:
        raise BadSetting(
            "Workers need a ledger and a broker that they share.",
            advice="Set SLUICE_LEDGER_URL and SLUICE_BROKER_URL, or use `sluice up` for everything in one process.",
        )
    guard = context.keep(Guard())
    posts = [_post(watch, options, guard) for watch in watches]
    keeper = Autoscaler(installation.ledger, posts, partial(_say, context))
    with told_to_stop() as stop:
        try:
            keeper.keep(stop, options.every)
        except KeyboardInterrupt:
            return INTERRUPTED
    context.output.answer({"stopped": True}, Paragraph("Stopped."))
    return DONE


def _post(watch: ScalingTarget, options: Options, guard: Guard) -> ScaledTarget:
    environment = dict(os.environ)
    hand_on(environment, apps=options.apps, ledger_url=options.ledger, broker_url=options.broker)
    return ScaledTarget(
        watch,
        ScalingSettings(
            bounds=watch.bounds,
            capacity=options.threads * options.processes,
            cool_down_s=options.cool_down,
        ),
        LocalWorkers(
            command(watch, threads=options.threads, processes=options.processes),
            environment,
            guard,
        ),
    )


def _say(context: CommandContext, text: str) -> None:
    """Show a line to the user. If the output is closed, the workers stay."""
    with suppress(OSError):
        context.output.note(Paragraph(text))


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)


def _seconds(text: str) -> float:
    try:
        return duration_s(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
