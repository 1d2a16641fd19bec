"""Startup of a worker: wait until its ledger and its broker answer.

A restarted server is back within seconds. If the worker exited instead of waiting, its supervisor would restart it with
growing delays, in Kubernetes up to five minutes. Without the last control worker, no job of a lost worker would be
taken back until then. A worker that waits is at work within ``PAUSE_S`` of the server's return. The parent process
waits, because its child processes start immediately afterwards.
"""

import logging
import signal
import sys
import time

from sluice.actors.assembly import connect_broker, open_ledger, owner_of
from sluice.actors.settings.settings import Settings
from sluice.jobs.errors import ForeignBroker, Unreachable

_LOG = logging.getLogger("sluice.process")

PAUSE_S = 0.5
#: Exit code after an interrupt at the keyboard: 128 + SIGINT.
INTERRUPTED = 130


def end_on_signals() -> None:
    """Exit in order on SIGTERM and SIGINT, because nothing has to be shut down yet. Without a handler, the first
    process of a container would ignore these signals."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, lambda *_: sys.exit(INTERRUPTED))


def wait_for_servers(settings: Settings, queue: str) -> None:
    """Return once the ledger and the broker answer. ``queue`` is a queue that this worker may ask the broker about.

    Unreachable for a server that does not answer within ``settings.startup_timeout_s``. If the broker belongs to
    another installation, ForeignBroker is raised without waiting.
    """
    away = _away(settings, queue)
    if away is None:
        return
    _LOG.warning("waiting up to %g s for it: %s", settings.startup_timeout_s, away)
    deadline = time.monotonic() + settings.startup_timeout_s
    while away is not None:
        if time.monotonic() >= deadline:
            raise away
        time.sleep(PAUSE_S)
        away = _away(settings, queue)


def _away(settings: Settings, queue: str) -> Unreachable | None:
    """Return the error of a server that does not answer, or None if both do."""
    try:
        with open_ledger(settings) as ledger, connect_broker(settings, owner_of(settings, ledger)) as broker:
            broker.require_own()
            broker.depth(queue)
    except ForeignBroker:
        raise
    except Unreachable as error:
        return error
    return None
