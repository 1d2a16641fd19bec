"""Commands that work: up, run."""

import argparse
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

import msgspec

from actors.assembly import connect_broker
from actors.process import Process
from ledger.connection import without_password
from ledger.reads.idle import idle
from ops.cli.asking import submission_of, submission_options
from ops.cli.command import Command, Options
from ops.cli.desk import Desk
from ops.cli.watching import report, watch

LOOK_EVERY_S = 0.3


def up(desk: Desk, options: Options) -> int:
    """Everything in one process, until it is told to stop, or with --drain until nothing is left to do."""
    desk.output.line(f"{len(desk.catalogue)} apps; ledger {_ledger(desk)}, broker {_broker(desk)}. Ctrl-C ends.")
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with working(desk, options.threads, broker_url=desk.settings.broker_url):
        while not stop.wait(LOOK_EVERY_S):
            if options.drain and desk.ledger.transact(idle):
                break
    return 0


def run(desk: Desk, options: Options) -> int:
    """Submit, work in this process until it has ended, and say how."""
    submission = submission_of(options)
    desk.check(submission)
    # The messages stay in this process: it works on this submission and nothing else waits for it.
    with working(desk, options.threads, broker_url="memory://") as process:
        id_ = process.client.submit(submission)
        return report(desk, watch(desk, id_))


@contextmanager
def working(desk: Desk, threads: int, *, broker_url: str) -> Iterator[Process]:
    """A process that serves every queue, for as long as the block lasts."""
    settings = msgspec.structs.replace(desk.settings, broker_url=broker_url)
    with connect_broker(settings) as broker:
        process = Process(settings, desk.catalogue, desk.ledger, broker, threads=threads)
        process.start()
        try:
            yield process
        finally:
            process.stop()


def _ledger(desk: Desk) -> str:
    url = desk.settings.ledger_url
    return f"embedded under {desk.settings.home}" if url is None else without_password(url)


def _broker(desk: Desk) -> str:
    return without_password(desk.settings.broker_url)


def _threads(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=int, default=max(4, os.cpu_count() or 1), metavar="N")


def _up_options(parser: argparse.ArgumentParser) -> None:
    _threads(parser)
    parser.add_argument("--drain", action="store_true", help="leave when nothing is left to do")


def _run_options(parser: argparse.ArgumentParser) -> None:
    submission_options(parser)
    _threads(parser)


COMMANDS = (
    Command(word="up", help="everything in one process", run=up, options=_up_options),
    Command(word="run", help="submit, and work on it here until it has ended", run=run, options=_run_options),
)

