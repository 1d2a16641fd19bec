"""A process of this command's own that serves every queue."""

import argparse
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from sluice.actors.assembly import is_shared, own_broker
from sluice.actors.definitions import Definitions
from sluice.actors.doorbell import Doorbell
from sluice.actors.lines import whole_lines
from sluice.actors.process import Process
from sluice.actors.settings import Settings
from sluice.actors.upkeep import announce_everything
from sluice.ledger.connection import Ledger


def threads_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threads",
        type=_threads,
        default=max(4, os.cpu_count() or 1),
        metavar="N",
        help="so many jobs at once",
    )


@contextmanager
def working(
    settings: Settings, definitions: Definitions, ledger: Ledger, *, threads: int
) -> Iterator[Process]:
    """Works for as long as the block lasts; what still runs then gets the grace time and is handed back."""
    with whole_lines(), own_broker(settings, ledger) as broker, ExitStack() as opened:
        process = Process(settings, definitions, ledger, broker, threads=threads)
        process.start()
        if not is_shared(settings):
            opened.enter_context(Doorbell(ledger.url, broker.publish))
            # Whatever was announced to the broker of a process before this one has died with it.
            announce_everything(ledger, broker.publish)
        try:
            yield process
        finally:
            _stop(process)


def _stop(process: Process) -> None:
    """Interrupted once more, it does not wait for what runs any longer, and hands it back all the same."""
    try:
        process.stop()
    except KeyboardInterrupt:
        process.stopped()
        raise


def _threads(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} threads run nothing; 1 is the least")
    return number
