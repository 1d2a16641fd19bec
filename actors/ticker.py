"""The scheduler's own thread: whoever leads has the groomer tick, and somebody look which schedules are due. He himself
counts what has happened.

Where nothing stirs in the ledger it sends nothing for a while: two messages a second, taken up by two processes, would
be most of what an idle installation does.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from threading import Event, Thread
from uuid import UUID

from broker.messages import SCHEDULER, Look, Message, Tick
from jobs.errors import Unreachable
from ledger import grooming, pruning, schedules, tallies, workers
from ledger.connection import Ledger, Tx
from scheduler.ticks import Ticks

_LOG = logging.getLogger("sluice.scheduler")

#: A leader that was not heard of for so many periods is replaced.
TERM_PERIODS = 3
#: After so many periods in which nothing stirred both are sent all the same: that definitions have changed shows in
#: the processes alone that have loaded them.
CALM_PERIODS = 5


class Ticker:
    """Of all processes that run one, one leads. Two that both believe so cost a tick too many and no more."""

    def __init__(
        self, ledger: Ledger, holder: UUID, send: Callable[[Sequence[Message]], None], *, period_s: float
    ) -> None:
        self._ledger = ledger
        self._holder = holder
        self._send = send
        self._ticks = Ticks(period_s, _now())
        self._calm = 0
        self._ended = Event()
        self._thread = Thread(target=self._live, name="ticker", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def tick(self) -> None:
        """What a period's end brings."""
        term_s = self._ticks.period_s * TERM_PERIODS
        if self._ledger.transact(lambda tx: workers.take_pulse(tx, SCHEDULER, self._holder, term_s=term_s)):
            messages = self._ledger.transact(self._due)
            self._calm = 0 if messages else self._calm + 1
            self._send(messages)
            self._ledger.transact(tallies.count)

    def _live(self) -> None:
        while True:
            due = self._ticks.after(_now())
            if self._ended.wait((due - _now()).total_seconds()):
                return
            try:
                self.tick()
            except Unreachable as error:
                _LOG.warning("no tick: %s", error)

    def _due(self, tx: Tx) -> list[Message]:
        anyway = self._calm >= CALM_PERIODS
        tick = anyway or grooming.due(tx) or pruning.is_due(tx)
        look = anyway or schedules.any_due(tx)
        return [*([Tick()] if tick else []), *([Look()] if look else [])]


def _now() -> datetime:
    return datetime.now(UTC)
