"""Worker within this command's process, and the event that stops it.

The worker serves every queue (``working``). ``told_to_stop`` yields a ``StopEvent`` event for commands that run until
they are stopped.
"""

import argparse
import math
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Condition, RLock
from time import monotonic

from sluice.actors.assembly import is_shared, own_broker
from sluice.actors.groomer.redispatch import announce_everything
from sluice.actors.settings.settings import Settings
from sluice.actors.worker.definitions import Definitions
from sluice.actors.worker.logs import whole_lines
from sluice.actors.worker.notify_listener import NotifyListener
from sluice.actors.worker.process import Process
from sluice.jobs.runners.run_output import captured_runs
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
    """Run a worker during the block. Jobs that still run at its end get the grace time and are then handed back.

    The user of the command also sees what functions print in threads of this process.
    """
    with (
        whole_lines(),
        captured_runs(passes_on=True),
        own_broker(settings, ledger) as broker,
        ExitStack() as opened,
    ):
        process = Process(settings, definitions, ledger, broker, threads=threads)
        process.start()
        if not is_shared(settings):
            opened.enter_context(NotifyListener(ledger, broker.publish))
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


#: Seconds after which a wait checks again whether a signal arrived just before it blocked.
HEARD_WITHIN_S = 0.5


class StopEvent:
    """Event that a signal handler can set.

    A handler runs in the main thread, between any two lines of a wait. ``threading.Event`` deadlocks there if the wait
    holds its lock, because that lock is not reentrant. A signal between the last check and the blocking call wakes
    nothing, so a wait blocks for at most ``HEARD_WITHIN_S`` at a time.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._changed = Condition(RLock())

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        with self._changed:
            self._changed.notify_all()

    def wait(self, timeout_s: float = math.inf) -> bool:
        """Return whether it is set, after at most this time."""
        deadline = monotonic() + timeout_s
        while not self._is_set and (left_s := deadline - monotonic()) > 0:
            with self._changed:
                self._changed.wait(min(left_s, HEARD_WITHIN_S))
        return self._is_set


@contextmanager
def told_to_stop() -> Iterator[StopEvent]:
    """Yield an event that the first signal sets, so that running jobs get their grace time. The next signal interrupts
    the command.
    """
    stop = StopEvent()
    before = {}

    def hear(number: int, _: object) -> None:
        stop.set()
        signal.signal(number, signal.default_int_handler)

    hangup = [] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [signal.SIGHUP]
    for number in (signal.SIGINT, signal.SIGTERM, *hangup):
        before[number] = signal.signal(number, hear)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
