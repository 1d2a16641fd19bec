"""Fair share: the order in which the tenants of a process get free slots.

Each process counts the seconds for which the apps of each tenant have used its slots. Past seconds count less and less
(``MEMORY_S``). A free slot goes to the tenant with the least use for its weight. So a tenant that was idle gets every
free slot until its use has caught up, and from then on its share. A tenant that waits alone gets all slots.

The seconds are counted from the hand-over of a message to the end of its handler. A running handler counts at once, so
tenants with equal use take turns when several slots are free.

Invariants:

- The order contains each queue once. Within a tenant it is the given order.
- Without tenants, and with one, the given order is returned as it is, and nothing is counted.
- The intake thread and the threads of handlers call this at the same time. Each method holds the lock.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from time import monotonic

from sluice.broker.messages import CONTROL
from sluice.jobs.policy.tenants import DEFAULT_TENANT

#: Seconds after which use counts 1/e, about a third: 60. A tenant that was idle has the slots to itself for at most 42
#: seconds (60 ln 2) before a tenant of the same weight gets its half again.
MEMORY_S = 60.0
#: Seconds for which a start counts until its handler ends: 1. Without them all slots that are free at the same moment
#: would go to one tenant.
START_S = 1.0


class _Use:
    """Use of slots by one queue, at the time of the last change."""

    __slots__ = ("_at", "_seconds", "running")

    def __init__(self, now: float) -> None:
        self.running = 0
        self._seconds = 0.0
        self._at = now

    def change(self, running: int, now: float) -> None:
        self._seconds = self._past_s(now)
        self._at = now
        self.running += running

    def seconds(self, now: float) -> float:
        return self._past_s(now) + self.running * START_S

    def _past_s(self, now: float) -> float:
        faded = math.exp(-(now - self._at) / MEMORY_S)
        return self._seconds * faded + self.running * MEMORY_S * (1 - faded)


class FairShare:
    """Use of slots by tenants. ``tenants`` returns the tenant of each app that is not of the default
    one, ``weight`` the weight of a tenant."""

    def __init__(
        self,
        tenants: Callable[[], Mapping[str, str]] = dict,
        weight: Callable[[str], float] = lambda _: 1.0,
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._tenants = tenants
        self._weight = weight
        self._clock = clock
        self._uses: dict[str, _Use] = {}
        self._lock = Lock()

    @property
    def has_tenants(self) -> bool:
        return bool(self._tenants())

    def started(self, queue: str) -> None:
        """Count a message of this queue from now on."""
        if queue in CONTROL or not self.has_tenants:
            return
        now = self._clock()
        with self._lock:
            self._uses.setdefault(queue, _Use(now)).change(1, now)

    def ended(self, queue: str) -> None:
        """Count a message of this queue no longer. A message from before the first tenant was never counted."""
        with self._lock:
            use = self._uses.get(queue)
            if use is not None and use.running:
                use.change(-1, self._clock())

    def ordered(self, queues: Iterable[str]) -> list[str]:
        """Return the queues, sorted by the use of their tenants for their weights, least use first."""
        given = list(queues)
        tenants = self._tenants()
        if not tenants or len(given) < 2:
            return given
        used = self._used(tenants)
        return sorted(given, key=lambda queue: used.get(tenants.get(queue, DEFAULT_TENANT), 0.0))

    def _used(self, tenants: Mapping[str, str]) -> dict[str, float]:
        """Return the use of each tenant that has any, divided by its weight."""
        now = self._clock()
        with self._lock:
            seconds = [
                (tenants.get(queue, DEFAULT_TENANT), use.seconds(now)) for queue, use in self._uses.items()
            ]
        used: dict[str, float] = {}
        for tenant, each in seconds:
            used[tenant] = used.get(tenant, 0.0) + each / self._weight(tenant)
        return used


#: Shares of a process without tenants. It counts nothing, so all such processes can use it.
NO_TENANTS = FairShare()
