"""How many workers to start and how many to send away: a function of what is seen now and what is remembered.

More are started as soon as there is more to do. Fewer are kept only once no look for the whole of the cool-down has
asked for more: to start one takes longer than to keep it, and work comes in waves. One that ends though nobody has
asked it to is replaced, at once the first time, and after a pause that doubles where they go on ending.
"""

from math import ceil

from msgspec import Struct

#: The longest pause before one that has crashed is replaced, and the first after the one that is none.
PAUSE_S_MAX = 60.0
PAUSE_S = 1.0
#: One that has lived for so long was sound: what it ended of is no part of a row of crashes.
SOUND_S = 60.0
#: So many looks are remembered, however often is looked: of others that were as near, one.
SAMPLES_MAX = 1000


class Bounds(Struct, frozen=True):
    """So many workers at least and at the most."""

    least: int
    most: int

    def clamp(self, number: int) -> int:
        return max(self.least, min(self.most, number))


class Terms(Struct, frozen=True, kw_only=True):
    """A worker runs as many jobs at once as its ``capacity``."""

    bounds: Bounds
    capacity: int
    cool_down_s: float


class Memory(Struct, frozen=True, kw_only=True):
    """``needs`` are the looks within the cool-down, each with how many workers it asked for, without those that a later
    one has outdone; ``crashes`` are those in a row, and before ``start_from_s`` nobody is started."""

    target: int = 0
    needs: tuple[tuple[float, int], ...] = ()
    crashes: int = 0
    start_from_s: float = 0.0


class Seen(Struct, frozen=True, kw_only=True):
    """At a time: how many jobs could be run at once, or None where nobody says; how many workers are ``working``, and
    how many ``leaving``; and for how long each has lived that has ended by itself since the last look."""

    at_s: float
    demand: int | None
    working: int
    leaving: int
    lived_s: tuple[float, ...] = ()


class Decision(Struct, frozen=True):
    start: int
    send_away: int
    memory: Memory


def decide(terms: Terms, memory: Memory, seen: Seen) -> Decision:
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
    """What still counts, the highest first: an earlier look that asked for no more than a later one never will."""
    kept = tuple(each for each in needs if each[0] > since_s and each[1] > last[1])
    return (*kept, last)[-SAMPLES_MAX:]


def _pause(memory: Memory, seen: Seen) -> tuple[int, float]:
    """How many crashes there are in a row by now, and until when nobody is started."""
    crashes, start_from_s = memory.crashes, memory.start_from_s
    for lived_s in seen.lived_s:
        crashes = 1 if lived_s >= SOUND_S else crashes + 1
        pause_s = 0.0 if crashes == 1 else min(PAUSE_S * 2.0 ** min(crashes - 2, 30), PAUSE_S_MAX)
        start_from_s = max(start_from_s, seen.at_s + pause_s)
    return crashes, start_from_s
