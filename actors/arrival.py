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

from sluice.actors.assembly import connect_broker, open_ledger, owner_of
from sluice.actors.settings import Settings
from sluice.jobs.errors import ForeignBroker, Unreachable

_LOG = logging.getLogger("sluice.process")

PAUSE_S = 0.5
#: The exit code of who was interrupted at the keyboard.
INTERRUPTED = 130


def may_be_told_to_end() -> None:
    """Leave in order at a signal: there is nothing yet that would have to end. The first process of a container would
    not hear it otherwise."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, lambda *_: sys.exit(INTERRUPTED))


def wait_for_servers(settings: Settings, queue: str) -> None:
    """Return once ledger and broker answer; Unreachable for the one that has not within ``settings.start_within_s``,
    and ForeignBroker at once for a broker that is another installation's.

    ``queue`` is one that this worker may ask the broker about.
    """
    away = _away(settings, queue)
    if away is None:
        return
    _LOG.warning("waiting up to %g s for it: %s", settings.start_within_s, away)
    deadline = time.monotonic() + settings.start_within_s
    while away is not None:
        if time.monotonic() >= deadline:
            raise away
        time.sleep(PAUSE_S)
        away = _away(settings, queue)


def _away(settings: Settings, queue: str) -> Unreachable | None:
    """Whoever does not answer."""
    try:
        with open_ledger(settings) as ledger, connect_broker(settings, owner_of(settings, ledger)) as broker:
            broker.require_own()
            broker.depth(queue)
    except ForeignBroker:
        raise
    except Unreachable as error:
        return error
    return None
