"""Decision on how many workers to start and to stop. It is a function of the current observation and a memory.

Workers are started as soon as there is more work. Workers are stopped only if no observation within the cool-down
needed them. The reason is that starting a worker takes longer than keeping it, and that work comes in waves. A worker
that exits by itself is replaced. The first replacement is immediate. If replacements also exit, the pause before the
next one doubles each time.
"""

from math import ceil

from msgspec import Struct

#: Seconds before a crashed worker is replaced: the longest pause, and the first pause after the immediate replacement.
PAUSE_S_MAX = 60.0
PAUSE_S = 1.0
#: Seconds after which a worker counts as sound. Its exit then starts a new count of consecutive crashes.
SOUND_S = 60.0
#: Maximum number of observations in the memory, however often the loop observes. The latest are kept.
SAMPLES_MAX = 1000


class WorkerBounds(Struct, frozen=True):
    """Minimum and maximum number of workers."""

    least: int
    most: int

    def clamp(self, number: int) -> int:
        return max(self.least, min(self.most, number))


class ScalingSettings(Struct, frozen=True, kw_only=True):
    """Settings for the decision. ``capacity`` is the number of jobs that a worker runs at once."""

    bounds: WorkerBounds
    capacity: int
    cool_down_s: float


class Memory(Struct, frozen=True, kw_only=True):
    """State between two decisions. ``needs`` has the observations within the cool-down with the number of workers that
    each needed. An observation is left out if a later one needed at least as many. ``crashes`` counts consecutive
    crashes. No worker is started before ``start_from_s``.
    """

    target: int = 0
    needs: tuple[tuple[float, int], ...] = ()
    crashes: int = 0
    start_from_s: float = 0.0


class Observation(Struct, frozen=True, kw_only=True):
    """Observation at one time. ``demand`` is the number of jobs that could run at once, or None if the ledger does not
    answer. ``working`` and ``leaving`` count workers. ``lived_s`` has the lifetime of each worker that exited by itself
    since the last observation.
    """

    at_s: float
    demand: int | None
    working: int
    leaving: int
    lived_s: tuple[float, ...] = ()


class Decision(Struct, frozen=True):
    start: int
    send_away: int
    memory: Memory


def decide(terms: ScalingSettings, memory: Memory, seen: Observation) -> Decision:
    bounds = terms.bounds
    kept = bounds.clamp(memory.target)
    need = kept if seen.demand is None else bounds.clamp(ceil(seen.demand / terms.capacity))
    needs = _remembered(memory.needs, (seen.at_s, need), seen.at_s - terms.cool_down_s)
    target = max(number for _, number in needs)
    crashes, start_from_s = _pause(memory, seen)
    missing = min(target, bounds.most - seen.leaving) - seen.working
    return Decision(
        start=max(missing, 0) if seen.at_s >= start_from_s else 0,
        send_away=max(seen.working - target, 0),
        memory=Memory(target=target, needs=needs, crashes=crashes, start_from_s=start_from_s),
    )


def _remembered(
    needs: tuple[tuple[float, int], ...], last: tuple[float, int], since_s: float
) -> tuple[tuple[float, int], ...]:
    """Return the observations that still count, the highest first. An earlier observation that needed no more than a
    later one can never be the maximum.
    """
    kept = tuple(each for each in needs if each[0] > since_s and each[1] > last[1])
    return (*kept, last)[-SAMPLES_MAX:]


def _pause(memory: Memory, seen: Observation) -> tuple[int, float]:
    """Return the number of consecutive crashes, and the time before which no worker is started."""
    crashes, start_from_s = memory.crashes, memory.start_from_s
    for lived_s in seen.lived_s:
        crashes = 1 if lived_s >= SOUND_S else crashes + 1
        pause_s = 0.0 if crashes == 1 else min(PAUSE_S * 2.0 ** min(crashes - 2, 30), PAUSE_S_MAX)
        start_from_s = max(start_from_s, seen.at_s + pause_s)
    return crashes, start_from_s
