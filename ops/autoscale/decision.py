"""Decision on how many workers to start or to stop, as a function of observations.

Workers are started as soon as there is more work. Workers are stopped only if no observation within the cool-down
needed them. The reason is that starting a worker takes longer than keeping it, and that work comes in waves. A worker
that exits by itself is replaced. The first replacement is immediate. If replacements also exit, the pause before the
next one doubles each time.
"""

from collections.abc import Mapping, Sequence
from math import ceil

from msgspec import Struct

from sluice.broker.messages import CONTROL

#: Seconds before a crashed worker is replaced: the longest pause, and the first pause after the immediate replacement.
PAUSE_S_MAX = 60.0
PAUSE_S = 1.0
#: Seconds after which a worker counts as sound. Its exit then starts a new count of consecutive crashes.
SOUND_S = 60.0


class ScalingTarget(Struct, kw_only=True):
    """Queues that share workers, the bounds for the number of these workers, and the memory of decisions about it.

    A worker runs ``capacity`` jobs at once in threads. Besides, it runs ``coroutine_capacity`` jobs of the apps in
    ``coroutines``. ``needed_s`` has the last time at which each number of workers was needed. ``crashes`` counts
    consecutive crashes. No worker is started before ``start_from_s``.
    """

    queues: tuple[str, ...]
    least: int
    most: int
    capacity: int
    cool_down_s: float
    coroutines: frozenset[str] = frozenset()
    coroutine_capacity: int = 1
    goal: int = 0
    needed_s: dict[int, float] = {}
    crashes: int = 0
    start_from_s: float = 0.0

    @property
    def name(self) -> str:
        return ",".join(self.queues)

    @property
    def apps(self) -> list[str]:
        """The queues of apps, without Sluice's own control queues."""
        return [queue for queue in self.queues if queue not in CONTROL]

    def decide(
        self,
        at_s: float,
        demand: Mapping[str, int] | None,
        *,
        working: int,
        leaving: int,
        lived_s: Sequence[float] = (),
    ) -> int:
        """Return the number of workers to start, or to stop if it is negative. ``demand`` is the number of jobs that
        could run at once, by app, or None if the ledger does not answer. ``lived_s`` has the lifetime of each worker
        that exited by itself since the last decision.
        """
        wanted = self.goal if demand is None else self._wanted(demand)
        need = max(self.least, min(self.most, wanted))
        self.needed_s.update(dict.fromkeys(range(need + 1), at_s))
        since_s = at_s - self.cool_down_s
        self.goal = max(number for number, s in self.needed_s.items() if number == need or s > since_s)
        for each in lived_s:
            self.crashes = 1 if each >= SOUND_S else self.crashes + 1
            pause_s = (
                min(PAUSE_S * 2.0 ** min(self.crashes - 2, 30), PAUSE_S_MAX) if self.crashes > 1 else 0.0
            )
            self.start_from_s = max(self.start_from_s, at_s + pause_s)
        missing = min(self.goal, self.most - leaving) - working
        if missing > 0:
            return missing if at_s >= self.start_from_s else 0
        return min(self.goal - working, 0)

    def _wanted(self, demand: Mapping[str, int]) -> int:
        """Return the number of workers that could run all of these jobs. Coroutines need no threads."""
        in_threads = sum(demand[app] for app in self.apps if app not in self.coroutines)
        on_loops = sum(demand[app] for app in self.apps if app in self.coroutines)
        return max(ceil(in_threads / self.capacity), ceil(on_loops / self.coroutine_capacity))
