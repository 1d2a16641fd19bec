"""Decision when to take messages from RabbitMQ, and how many.

It covers the queues that share one pool of slots. There are two ways. While there are slots to spare, messages are
*pushed*: every queue has an idle lane, and an arriving message starts immediately. When slots are taken faster than
they are freed, arriving messages are held for a moment. So short jobs follow each other without a pause. When a message
was held too long, or no slot was to spare for as long, the lanes are closed. All unstarted messages go back, so that an
idle process elsewhere finds them. From then on messages are *fetched* (``Fetching``): when a slot is freed, one message
is fetched for it. It comes from the queue that is next in the order. When all queues are empty, or there have been
slots to spare for a while, messages are pushed again.

So a slot is never given to an empty queue, and a queue with a long backlog cannot keep the others out. Short jobs cause
no consume and cancel.
"""

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from typing import NamedTuple

from sluice.broker.consumer.intake import IDLE_S, SharedSlots
from sluice.broker.consumer.redelivery import Parking
from sluice.broker.delivery import Delivery
from sluice.broker.rabbitmq.channel import Feed

#: Seconds for which a message may be held without a slot, and lanes stay open with no slot to spare. There must be
#: slots to spare for at least as long before lanes are opened for queues that are not empty.
GRACE_S = 0.1
#: If pushing had to be given up again within these seconds, the latter time is doubled, up to this.
CALM_S_MAX = 5.0
#: Lanes per slot. RabbitMQ needs a while from an acknowledgement to the lane's next message, so two lanes take turns at
#: a slot.
LANES_PER_SLOT = 2


class HeldMessages(NamedTuple):
    since: float
    feed: Feed
    delivery: Delivery


class Counter:
    """Decisions for one pool of slots. ``turn`` does all that can be done now. Only the intake's thread uses it."""

    def __init__(
        self,
        desk: SharedSlots,
        start: Callable[[Delivery], None],
        parking: Parking,
        clock: Callable[[], float],
    ) -> None:
        self._pool = desk.pool
        self._shares = desk.rota.shares
        self._feeds: dict[str, Feed] = {}
        self._start = start
        self._parking = parking
        self._clock = clock
        self._fetching = Fetching(desk, self._feeds, start, parking, clock)
        self._pushing = True
        self._pushing_since = clock()
        self._can_spare = True
        self._spare_since = clock()
        self._calm_s = GRACE_S
        self._held: deque[HeldMessages] = deque()
        self._arrived: set[str] = set()

    def add(self, feed: Feed) -> None:
        """Take messages from this feed too, from the next turn on. Its queue is in the rota of the pool's
        ``SharedSlots``."""
        self._feeds[feed.queue] = feed
        feed.on_arrival = partial(self._hold, feed)

    def turn(self) -> float:
        """Do all that can be done now. Return after how many seconds to come again if nothing happens before."""
        self._start_held()
        self._see_to_spare()
        if self._pushing and self._patience_s() <= 0:
            self.withdraw()
        if not self._pushing:
            self._fetch()
        if self._pushing:
            self._keep_lanes()
        return self._patience_s()

    def withdraw(self) -> None:
        """Give back messages that have not started, and have nothing more pushed."""
        if self._pushing:
            was_soon = self._clock() - self._pushing_since < CALM_S_MAX
            self._calm_s = min(2 * self._calm_s, CALM_S_MAX) if was_soon else GRACE_S
            self._pushing = False
            self._fetching.begin()
        for feed in self._ready():
            feed.close_lanes()
        while self._held:
            self._held.popleft().delivery.give_back()

    def forget(self) -> None:
        """Drop all held messages, because the connection is gone and they with it."""
        self._held.clear()
        self._fetching.forget()
        self._push()

    def _push(self) -> None:
        self._pushing, self._pushing_since = True, self._clock()

    def _fetch(self) -> None:
        all_are_empty = self._fetching.step()
        if all_are_empty:
            self._calm_s = GRACE_S
        if all_are_empty or (self._can_spare and self._clock() - self._spare_since >= self._calm_s):
            self._push()

    def _hold(self, feed: Feed, delivery: Delivery) -> None:
        self._held.append(HeldMessages(self._clock(), feed, delivery))
        self._arrived.add(feed.queue)

    def _start_held(self) -> None:
        """Start held messages in the order of arrival, across all queues of a tenant."""
        while self._held:
            held = self._next_held()
            is_stale = held.feed.is_stale(held.delivery)
            if not is_stale and not self._pool.take():
                return
            self._held.remove(held)
            if not is_stale:
                self._start(held.delivery)
                self._spare_since = self._clock()

    def _next_held(self) -> HeldMessages:
        """Return the first held message of the tenant that is next."""
        if len(self._held) < 2 or not self._shares.has_tenants:
            return self._held[0]
        queue = self._shares.ordered(dict.fromkeys(held.feed.queue for held in self._held))[0]
        return next(held for held in self._held if held.feed.queue == queue)

    def _see_to_spare(self) -> None:
        """Update whether a slot is to spare. A slot that waits for RabbitMQ's answer counts as such, because RabbitMQ
        keeps it waiting."""
        can_spare = self._pool.free > 0 or self._fetching.is_asking
        if can_spare != self._can_spare:
            self._can_spare, self._spare_since = can_spare, self._clock()

    def _patience_s(self) -> float:
        """Return for how many more seconds messages may be held and lanes stay open. Infinity if a slot is to spare,
        because each message, freed slot or settlement causes a turn."""
        if not self._pushing:
            return IDLE_S
        if self._can_spare:
            return inf
        since = min(self._spare_since, self._held[0].since) if self._held else self._spare_since
        return since + GRACE_S - self._clock()

    def _ready(self) -> list[Feed]:
        return [feed for feed in self._feeds.values() if feed.is_ready]

    def _keep_lanes(self) -> None:
        """Keep an idle lane for every queue while slots are free, and add a lane for each queue with an arrival.

        A lane becomes idle only when its message is settled. So the total number of lanes is limited too: otherwise
        short jobs would open one more at every turn.
        """
        most = LANES_PER_SLOT * self._pool.size
        for feed in self._ready():
            if self._parking.is_full(feed.queue):
                feed.trim_lanes(0)
            elif self._pool.free and (not feed.idle_lanes or feed.queue in self._arrived):
                if feed.lanes < most + self._parking.parked(feed.queue):
                    feed.add_lane()
            else:
                feed.trim_lanes(most)
        self._arrived.clear()


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
        desk: SharedSlots,
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
