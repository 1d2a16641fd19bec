"""Writes of a run to a ledger that is unreachable for a while."""

import logging
from collections.abc import Callable
from threading import Event
from typing import TypeVar

from sluice.jobs.errors import Unreachable

_T = TypeVar("_T")

_LOG = logging.getLogger("sluice.executor")

#: Seconds between two attempts while the ledger is unreachable.
AGAIN_S = 1.0


def while_unreachable(write: Callable[[], _T], stop: Event, waits: str) -> _T | None:
    """Write to the ledger, again and again while it is unreachable. Return None if ``stop`` is set before that
    succeeds. ``waits`` begins the log lines: "the outcomes of 3 jobs wait"."""
    while True:
        try:
            return write()
        except Unreachable as error:
            _LOG.warning("%s for the ledger: %s", waits, error)
            if stop.wait(AGAIN_S):
                return None
