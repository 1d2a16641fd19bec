"""Parking of news after its handler failed: unacknowledged and without a slot, until its pause is over.

Then it is given back to the broker, and any process may try it. If this process dies first, the broker delivers the
message again by itself. The pause grows with every failure of the message in this process.
"""

import heapq
from collections import Counter, OrderedDict
from collections.abc import Callable
from itertools import count
from threading import Condition, Thread
from time import monotonic

from sluice.broker.delivery import Delivery
from sluice.jobs.policy.retry_delay import RetryRule

#: Number of parked messages at which a queue is not taken from until one has left. If the ledger is unreachable, all
#: news fails, and it should stay in the broker and not in this process's memory.
PARKED_MAX = 64
#: Number of messages with remembered failures. The message that failed longest ago is forgotten first.
REMEMBERED_MAX = 10_000

_PAUSE = RetryRule(rule="exponential", delay_s=0.5, delay_s_max=30.0)


class Parking:
    """Parked messages of one process. ``on_space`` is called when messages of a queue may be taken again."""

    def __init__(self, *, pause: RetryRule = _PAUSE) -> None:
        self.on_space: Callable[[], None] = lambda: None
        self._pause = pause
        self._parked: list[tuple[float, int, Delivery]] = []
        self._per_queue: Counter[str] = Counter()
        self._fails: OrderedDict[str, int] = OrderedDict()
        self._order = count()
        self._changed = Condition()
        self._closed = False
        self._thread: Thread | None = None

    def park(self, delivery: Delivery) -> float:
        """Keep a message for its pause, and return the pause in seconds."""
        with self._changed:
            fails = self._fails.pop(delivery.message_id, 0) + 1
            self._remember(delivery.message_id, fails)
            pause_s = self._pause.wait_s(fails, seed=delivery.message_id)
            if not self._closed:
                heapq.heappush(self._parked, (monotonic() + pause_s, next(self._order), delivery))
                self._per_queue[delivery.queue_name] += 1
                self._start()
                self._changed.notify()
                return pause_s
        delivery.give_back()
        return 0.0

    def forget(self, delivery: Delivery) -> None:
        """Forget the failures of a message, because it succeeded."""
        if self._fails:
            with self._changed:
                self._fails.pop(delivery.message_id, None)

    def parked(self, queue: str) -> int:
        return self._per_queue[queue]

    def is_full(self, queue: str) -> bool:
        return self.parked(queue) >= PARKED_MAX

    def close(self) -> None:
        """Give back all parked messages now."""
        with self._changed:
            self._closed = True
            self._changed.notify()
            leaving = [delivery for _, _, delivery in self._parked]
            self._parked.clear()
            self._per_queue.clear()
        for delivery in leaving:
            delivery.give_back()

    def _remember(self, message_id: str, fails: int) -> None:
        self._fails[message_id] = fails
        if len(self._fails) > REMEMBERED_MAX:
            self._fails.popitem(last=False)

    def _start(self) -> None:
        if self._thread is None:
            self._thread = Thread(target=self._run, name="sluice-parking", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while (delivery := self._next_due()) is not None:
            delivery.give_back()
            self.on_space()

    def _next_due(self) -> Delivery | None:
        """Return the next message when its pause is over, or None once closed."""
        with self._changed:
            while not self._closed:
                wait_s = self._parked[0][0] - monotonic() if self._parked else None
                if wait_s is not None and wait_s <= 0:
                    delivery = heapq.heappop(self._parked)[2]
                    self._per_queue[delivery.queue_name] -= 1
                    return delivery
                self._changed.wait(wait_s)
        return None
