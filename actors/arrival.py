"""Before anything is started: whoever a worker works with is there, or is waited for.

A server that is started again is back in seconds. A worker that left meanwhile would be started by its supervisor later
each time, in Kubernetes up to five minutes later; and with the last of control gone nothing would be taken back until
then. One that waits is at work within ``PAUSE_S`` of the server's return. It is in its parent process that this is
waited for, whose children come at once after it.
"""

import logging
import signal
import sys
import time

from actors.assembly import connect_broker, open_ledger
from actors.settings import Settings
from jobs.errors import Unreachable

_LOG = logging.getLogger("sluice.process")

PAUSE_S = 0.5


def may_be_told_to_end() -> None:
    """Leave in order at SIGTERM: there is nothing yet that would have to end. The first process of a container would
    not hear it otherwise."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))


def wait_for_servers(settings: Settings, queue: str) -> None:
    """Return once ledger and broker answer; Unreachable for the one that has not within ``settings.start_within_s``.

    ``queue`` is one that this worker may ask the broker about.
    """
    deadline = time.monotonic() + settings.start_within_s
    said = False
    while True:
        try:
            _ask(settings, queue)
        except Unreachable as error:
            if time.monotonic() >= deadline:
                raise
            if not said:
                _LOG.warning("waiting up to %g s for it: %s", settings.start_within_s, error)
                said = True
        else:
            return
        time.sleep(PAUSE_S)


def _ask(settings: Settings, queue: str) -> None:
    with open_ledger(settings), connect_broker(settings) as broker:
        broker.depth(queue)
