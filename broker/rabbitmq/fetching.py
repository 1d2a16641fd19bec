"""Fetching of one message for each free slot, from the queue that is next in the order."""

from collections.abc import Callable, Mapping
from functools import partial

from sluice.broker.delivery import Delivery
from sluice.broker.intake import Desk
from sluice.broker.parking import Parking
from sluice.broker.rabbitmq.feed import Feed

#: Seconds for which a count is valid. Other processes take messages too.
COUNT_HOLDS_S = 0.1


class Fetching:
    """Fetching for one pool of slots. The queues are counted, and the queues that are not empty are asked in the order
    of the rota.

    A slot is taken before a message is requested, and put back if there was none. ``step`` does all that can be done
    now; the answer to its requests causes the next step.
    """

    def __init__(
        self,
        desk: Desk,
        feeds: Mapping[str, Feed],
        start: Callable[[Delivery], None],
        parking: Parking,
        clock: Callable[[], float],
    ) -> None:
        self._pool = desk.pool
        self._rota = desk.rota
        self._feeds = feeds
        self._start = start
        self._parking = parking
        self._clock = clock
        self._asking: set[str] = set()
        self._counting = 0
        self._waiting: dict[str, int] = {}
        self.begin()

    @property
    def is_asking(self) -> bool:
        """True if slots are taken for messages that are still on their way, or do not exist."""
        return bool(self._asking)

    def begin(self) -> None:
        """Forget earlier counts."""
        self._counted_at: float | None = None
        self._has_found = False

    def forget(self) -> None:
        """Drop all requests, because the connection is gone and they will never be answered."""
        self._pool.put_back(len(self._asking))
        self._asking.clear()
        self._counting = 0
        self.begin()

    def step(self) -> bool:
        """Do one step. Return whether every queue is empty, as far as is known."""
        if self._counting or not self._pool.free:
            return False
        if self._counted_at is None or self._clock() - self._counted_at > COUNT_HOLDS_S:
            return self._count()
        if self._ask() or self._asking:
            return False
        return self._count() if self._has_found else True

    def _count(self) -> bool:
        """Ask every queue how many messages wait. Return whether there is no queue to ask."""
        self._counted_at, self._has_found = self._clock(), False
        self._waiting = {}
        asked = [
            feed for feed in self._feeds.values() if feed.is_ready and not self._parking.is_full(feed.queue)
        ]
        if len(asked) == 1:
            # With one queue there is no choice, so it need not be counted.
            self._waiting[asked[0].queue] = self._pool.size
            self._ask()
            return False
        self._counting = len(asked)
        for feed in asked:
            feed.count(partial(self._on_counted, feed.queue))
        return not asked

    def _on_counted(self, queue: str, waiting: int, _: int) -> None:
        self._counting -= 1
        self._waiting[queue] = waiting

    def _ask(self) -> bool:
        """Request as many messages as slots are free, with one open request per queue. Return whether any was
        requested."""
        has_asked = False
        for queue in self._rota.order(asking_is_free=True):
            feed = self._feeds[queue]
            is_due = self._waiting.get(queue, 0) > 0 and queue not in self._asking and feed.is_ready
            if is_due and self._pool.take():
                self._asking.add(queue)
                self._waiting[queue] -= 1
                feed.get(partial(self._on_answer, queue))
                has_asked = True
        return has_asked

    def _on_answer(self, queue: str, delivery: Delivery | None) -> None:
        self._asking.remove(queue)
        if delivery is None:
            self._waiting[queue] = 0
            self._rota.was_empty(queue)
            self._pool.put_back(1)
        else:
            self._has_found = True
            self._rota.served(queue)
            self._start(delivery)
