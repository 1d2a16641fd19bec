"""Worker within this command's process that serves every queue."""

import argparse
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from sluice.actors.assembly import is_shared, own_broker
from sluice.actors.groomer.redispatch import announce_everything
from sluice.actors.settings.settings import Settings
from sluice.actors.worker.definitions import Definitions
from sluice.actors.worker.logs import whole_lines
from sluice.actors.worker.notify_listener import Doorbell
from sluice.actors.worker.process import Process
from sluice.ledger.database.connection import Ledger


def threads_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threads",
        type=_threads,
        default=max(4, os.cpu_count() or 1),
        metavar="N",
        help="number of jobs that run at once; default: the number of CPUs, at least 4",
    )


@contextmanager
def working(
    settings: Settings, definitions: Definitions, ledger: Ledger, *, threads: int
) -> Iterator[Process]:
    """Run a worker during the block. Jobs that still run at its end get the grace time and are then handed back."""
    with whole_lines(), own_broker(settings, ledger) as broker, ExitStack() as opened:
        process = Process(settings, definitions, ledger, broker, threads=threads)
        process.start()
        if not is_shared(settings):
            opened.enter_context(Doorbell(ledger.url, broker.publish))
            # Notifications in the broker of an earlier process were lost with that process.
            announce_everything(ledger, broker.publish)
        try:
            yield process
        finally:
            _stop(process)


def _stop(process: Process) -> None:
    """Stop the worker. If the user interrupts again, do not wait for running jobs, but still hand them back."""
    try:
        process.stop()
    except KeyboardInterrupt:
        process.stopped()
        raise


def _threads(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} threads are too few; use at least 1")
    return number
