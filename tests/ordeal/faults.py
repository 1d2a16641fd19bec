"""Faults and their times, drawn from the seed alone, so that each contender gets the same."""

import random
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

#: Mean seconds between two faults of one kind. The broker is killed at these parts of the time.
KILL_EVERY_S, CUT_EVERY_S = 2.0, 3.0
BROKER_AT = (0.35, 0.7)


class Kind(StrEnum):
    KILL = "SIGKILL to a worker with all its processes"
    CUT = "every connection to the broker cut"
    CRASH = "SIGKILL to the broker"


class Fault(NamedTuple):
    """One fault. ``at_s`` counts from the beginning; ``whom`` is a number by which a worker is chosen."""

    at_s: float
    kind: Kind
    whom: int


def faults(seed: int, seconds: float) -> list[Fault]:
    rng = random.Random(seed)
    drawn = [
        *(Fault(at_s, Kind.KILL, rng.randrange(1000)) for at_s in _times(rng, KILL_EVERY_S, seconds)),
        *(Fault(at_s, Kind.CUT, 0) for at_s in _times(rng, CUT_EVERY_S, seconds)),
        *(Fault(part * seconds, Kind.CRASH, 0) for part in BROKER_AT),
    ]
    return sorted(drawn)


def _times(rng: random.Random, every_s: float, seconds: float) -> Iterator[float]:
    """Yield random times, as of independent accidents."""
    at_s = rng.expovariate(1 / every_s)
    while at_s < seconds:
        yield at_s
        at_s += rng.expovariate(1 / every_s)
