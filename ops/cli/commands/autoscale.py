"""``sluice autoscale``: as many workers on this machine as there is work for, between bounds."""

import argparse
from threading import Event

from jobs.durations import parse_duration_s
from jobs.errors import BadSetting
from ops.autoscale.crew import Crew
from ops.autoscale.deciding import Terms
from ops.autoscale.guard import Guard
from ops.autoscale.keeper import Keeper, Post, command, environment
from ops.autoscale.watch import Watch, read_watches
from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.exits import DONE, INTERRUPTED
from ops.cli.installation import Installation
from ops.cli.page import Line
from ops.cli.stopping import told_to_stop

#: Whether those that were told to go have gone is looked at so often.
_LOOK_S = 0.2


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--queue",
        action="append",
        default=[],
        metavar="APP,…=N..M",
        help="from N to M workers for these queues; may be repeated",
    )
    parser.add_argument(
        "--threads", type=_positive, default=4, help="jobs at once in each process: %(default)s"
    )
    parser.add_argument("--processes", type=_positive, default=1, help="of each worker: %(default)s")
    parser.add_argument(
        "--cool-down",
        type=_seconds,
        default=120.0,
        metavar="TIME",
        help="nobody is sent away who was needed within so long: 2m",
    )
    parser.add_argument("--every", type=_seconds, default=5.0, metavar="TIME", help="how often is looked: 5s")


def run(desk: Desk, options: Options) -> int:
    settings = desk.settings
    watches = read_watches(options.queue, desk.catalogue)
    installation = Installation(desk)
    if settings.ledger_url is None or not installation.shares_a_broker:
        raise BadSetting(
            "Workers need a ledger and a broker that they share.",
            advice="Set SLUICE_LEDGER_URL and SLUICE_BROKER_URL, or use `sluice up` for everything in one process.",
        )
    guard = desk.keep(Guard())
    posts = [_post(watch, desk, options, guard) for watch in watches]
    keeper = Keeper(installation.ledger, posts, lambda text: desk.output.note(Line(text)))
    with told_to_stop() as stop:
        try:
            _keep(keeper, stop, options.every)
            desk.output.note(
                Line("All are told to go, and have their grace time. Told once more they are killed.")
            )
            _outlast(keeper)
        except KeyboardInterrupt:
            keeper.kill()
            return INTERRUPTED
    desk.output.answer({"stopped": True}, Line("Stopped."))
    return DONE


def _post(watch: Watch, desk: Desk, options: Options, guard: Guard) -> Post:
    return Post(
        watch,
        Terms(
            bounds=watch.bounds,
            capacity=options.threads * options.processes,
            cool_down_s=options.cool_down,
        ),
        Crew(
            command(watch, threads=options.threads, processes=options.processes),
            environment(desk.settings),
            guard,
        ),
    )


def _keep(keeper: Keeper, stop: Event, every_s: float) -> None:
    """Until it is told to stop. Whatever ends it, all are told to go."""
    try:
        while not stop.is_set():
            keeper.step()
            stop.wait(every_s)
    finally:
        keeper.send_all_away()


def _outlast(keeper: Keeper) -> None:
    never = Event()
    while keeper.wait():
        never.wait(_LOOK_S)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def _seconds(text: str) -> float:
    try:
        return parse_duration_s(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
