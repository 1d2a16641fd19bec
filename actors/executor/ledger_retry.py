"""Writes of a run to a ledger that is unreachable for a while."""

from collections.abc import Callable
from threading import Event
from typing import TypeVar

from sluice.jobs.errors import Unreachable
from sluice.jobs.observe.outages import missed

_T = TypeVar("_T")

#: Seconds between two attempts while the ledger is unreachable.
AGAIN_S = 1.0


def while_unreachable(write: Callable[[], _T], stop: Event, what: str, count: int = 1) -> _T | None:
    """Write to the ledger, again and again while it is unreachable. Return None if ``stop`` is set before that
    succeeds. ``what`` and ``count`` are for the log of the outage, for example 3 "results recorded late"."""
    waits = False
    while True:
        try:
            return write()
        except Unreachable as error:
            if not waits:
                missed(error, what, count)
            waits = True
            if stop.wait(AGAIN_S):
                return None
