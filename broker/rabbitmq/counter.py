"""When to take from RabbitMQ, for the queues that share one pool of slots.

Two ways. While slots are free, messages are *pushed*: every queue has an idle lane, and what arrives
starts at once. When slots are taken faster than they are freed, one message a lane may be held for a
moment, so that short jobs follow each other without a pause. When something was held too long, or no
slot has been free for as long, everything unstarted goes back and the lanes are closed: somebody idle
elsewhere finds it. From then on messages are *fetched*: a slot is freed, the rota says whose turn it
is, one message is got for it. When every queue answers that it is empty, or slots come so quickly that
holding is brief again, messages are pushed again.

So a slot is never given to a queue that has nothing, a queue with a long backlog cannot keep the others
out, and short jobs cause no consume and cancel.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from broker.delivery import Delivery
from broker.intake import IDLE_S, Desk
from broker.parking import Parking
from broker.rabbitmq.feed import Feed

#: How long a message may be held without a slot, and how long the lanes stay open with none free.
GRACE_S = 0.1


class Held(NamedTuple):
    since: float
    feed: Feed
    delivery: Delivery


class Counter:
    """``turn`` does all that can be done now. It belongs to the intake's thread."""

    def __init__(
        self,
        desk: Desk,
        feeds: Sequence[Feed],
        start: Callable[[Delivery], None],
        parking: Parking,
        clock: Callable[[], float],
    ) -> None:
        self._pool = desk.pool
        self._rota = desk.rota
        self._feeds = {feed.queue: feed for feed in feeds}
        self._start = start
        self._parking = parking
        self._clock = clock
        self._pushing = True
        self._held: deque[Held] = deque()
        self._full_since: float | None = None
        self._fetched: deque[float] = deque(maxlen=desk.pool.size + 2 * len(feeds))
        for feed in feeds:
            feed.on_arrival = lambda delivery, feed=feed: self._hold(feed, delivery)  # type: ignore[misc]

    def turn(self) -> float:
        """Starts what can start; says after how many seconds it has to look again if nothing happens."""
        self._start_held()
        if self._pushing and self._is_overdue():
            self.withdraw()
        if not self._pushing:
            self._fetch()
        if self._pushing:
            self._keep_lanes()
        return self._patience_s()

    def withdraw(self) -> None:
        """Gives back what has not started, and has nothing more pushed."""
        self._pushing = False
        self._fetched.clear()
        self._full_since = None
        for feed in self._feeds.values():
            if not feed.is_broken:
                feed.close_lanes()
        while self._held:
            self._held.popleft().delivery.give_back()

    def forget(self) -> None:
        """The connection is gone and all that was held with it."""
        self._held.clear()
        self._pushing = True
        self._full_since = None

    def _hold(self, feed: Feed, delivery: Delivery) -> None:
        self._held.append(Held(self._clock(), feed, delivery))

    def _start_held(self) -> None:
        """In the order of arrival, whatever the queue."""
        while self._held:
            if self._held[0].feed.is_stale(self._held[0].delivery):
                self._held.popleft()
            elif self._pool.take():
                self._start(self._held.popleft().delivery)
                self._full_since = None
            else:
                break
        if self._pool.free:
            self._full_since = None
        elif self._full_since is None:
            self._full_since = self._clock()

    def _is_overdue(self) -> bool:
        return self._patience_s() <= 0

    def _patience_s(self) -> float:
        if not self._pushing or self._full_since is None:
            return IDLE_S
        since = min(self._full_since, self._held[0].since) if self._held else self._full_since
        return since + GRACE_S - self._clock()

    def _fetch(self) -> None:
        while self._pool.take():
            try:
                delivery = self._next()
            except BaseException:
                self._pool.put_back(1)
                raise
            if delivery is None:
                self._pool.put_back(1)
                self._pushing = True
                return
            self._start(delivery)
            self._fetched.append(self._clock())
            if self._is_brisk():
                self._pushing = True
                return

    def _next(self) -> Delivery | None:
        for queue in self._rota.order():
            feed = self._feeds[queue]
            delivery = None if feed.is_broken or self._parking.is_full(queue) else feed.get()
            if delivery is not None:
                self._rota.served(queue)
                return delivery
            self._rota.was_empty(queue)
        return None

    def _is_brisk(self) -> bool:
        """Within the grace, all slots and then every queue twice were served: holding would be brief."""
        return len(self._fetched) == self._fetched.maxlen and self._clock() - self._fetched[0] < GRACE_S

    def _keep_lanes(self) -> None:
        """An idle lane for every queue while slots are free, and at most as many lanes as could be of use.

        A lane whose message has ended is idle only when that is settled, so that lanes are counted as well:
        or short jobs would open one more at every turn.
        """
        for queue, feed in self._feeds.items():
            if feed.is_broken:
                continue
            if self._parking.is_full(queue):
                feed.trim_lanes(0)
            elif not feed.idle_lanes and self._pool.free:
                if feed.lanes < self._pool.size + self._parking.parked(queue):
                    feed.add_lane()
            else:
                feed.trim_lanes(self._pool.size)
