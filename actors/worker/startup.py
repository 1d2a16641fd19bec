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
from sluice.jobs.catalogue.resolve.digest import KnownDefinitions
from sluice.jobs.errors import ForeignBroker, Unreachable
from sluice.jobs.observe.outages import muted
from sluice.jobs.release import release
from sluice.jobs.text.server_address import without_password
from sluice.jobs.text.units import counted

_LOG = logging.getLogger("sluice.process")

PAUSE_S = 0.5
#: Exit code after an interrupt at the keyboard: 128 + SIGINT.
INTERRUPTED = 130


def log_start(
    program: str, settings: Settings, ledger_url: str, known: KnownDefinitions | None, *facts: str
) -> None:
    """Log what this process is and what it works with, without passwords. ``facts`` are of this kind of process."""
    definitions = (
        f"{counted(len(known.apps), 'app')}, definitions {known.digest}" if known else "no definitions"
    )
    _LOG.info(
        "%s of Sluice %s starts: %s",
        program,
        release(),
        "; ".join(
            (
                *facts,
                definitions,
                f"lease {settings.lease_s:g} s",
                f"ledger {without_password(ledger_url)}, schema {settings.ledger_schema}",
                f"broker {without_password(settings.broker_url)}",
            )
        ),
    )


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
    began = time.monotonic()
    while away is not None:
        if time.monotonic() - began >= settings.startup_timeout_s:
            raise away
        time.sleep(PAUSE_S)
        away = _away(settings, queue)
    _LOG.info("the ledger and the broker answer, after %.1f s", time.monotonic() - began)


def _away(settings: Settings, queue: str) -> Unreachable | None:
    """Return the error of a server that does not answer, or None if both do."""
    try:
        with (
            muted(),
            open_ledger(settings) as ledger,
            connect_broker(settings, owner_of(settings, ledger)) as broker,
        ):
            broker.require_own()
            broker.depth(queue)
    except ForeignBroker:
        raise
    except Unreachable as error:
        return error
    return None
