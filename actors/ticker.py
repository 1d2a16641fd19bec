"""The scheduler's own thread: whoever leads sends the groomer its ticks, and has somebody look what is due."""

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from threading import Event, Thread
from uuid import UUID

from broker.messages import SCHEDULER, Look, Message, Tick
from jobs.errors import Unreachable
from ledger import workers
from ledger.connection import Ledger
from scheduler.ticks import Ticks

_LOG = logging.getLogger("sluice.scheduler")

#: A leader that was not heard of for so many periods is replaced.
TERM_PERIODS = 3


class Ticker:
    """Of all processes that run one, one leads. Two that both believe so cost a tick too many and no more."""

    def __init__(
        self, ledger: Ledger, holder: UUID, send: Callable[[Sequence[Message]], None], *, period_s: float
    ) -> None:
        self._ledger = ledger
        self._holder = holder
        self._send = send
        self._ticks = Ticks(period_s, _now())
        self._ended = Event()
        self._thread = Thread(target=self._live, name="ticker", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def _live(self) -> None:
        while True:
            due = self._ticks.after(_now())
            if self._ended.wait((due - _now()).total_seconds()):
                return
            try:
                self._tick()
            except Unreachable as error:
                _LOG.warning("no tick: %s", error)

    def _tick(self) -> None:
        term_s = self._ticks.period_s * TERM_PERIODS
        if self._ledger.transact(lambda tx: workers.take_pulse(tx, SCHEDULER, self._holder, term_s=term_s)):
            self._send([Tick(), Look()])


def _now() -> datetime:
    return datetime.now(UTC)
