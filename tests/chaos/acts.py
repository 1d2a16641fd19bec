"""Acts of the nemesis, with their targets and times. They are drawn from the seed before the run begins."""

import random
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from sluice.broker.consumer.supervisor import PARENT_CHECK_S
from tests.chaos import fleet
from tests.chaos.fleet import LEASE_S

#: Processes that have wires: the workers, the client and the console.
PLACES = (*fleet.ALL, "client", "console")
#: Seconds after which no process of a worker is left if its first process was killed. They end within half a second.
GONE_S = 8 * PARENT_CHECK_S
_BROKER, _LEDGER = ("broker",), ("ledger",)
#: Part of the run in which the first act of each kind happens, so that a short run contains every kind.
_FIRST_WITHIN = (0.05, 0.6)


class Kind(StrEnum):
    KILL = "SIGKILL to a worker"
    FIRST_KILL = "SIGKILL to a worker's first process alone"
    STOP = "SIGSTOP to a worker for longer than its lease, then SIGCONT"
    TELL = "SIGTERM to a worker"
    CLOCK = "a worker's clock jumps"
    BROKER_CUT = "all connections to the broker cut"
    LEDGER_CUT = "all connections to the ledger cut"
    BROKER_DELAY = "the way to the broker is slow"
    LEDGER_DELAY = "the way to the ledger is slow"
    BROKER_FREEZE = "nothing passes to the broker or back"
    LEDGER_FREEZE = "nothing passes to the ledger or back"
    LEDGER_HANG = "nothing passes to the ledger or back for longer than a lease"
    BROKER_UNSENT = "cut at a request to the broker, before it arrives"
    BROKER_UNHEARD = "cut at a request to the broker, before its reply"
    LEDGER_UNSENT = "cut at a COMMIT, before it arrives"
    LEDGER_UNHEARD = "cut at a COMMIT, before its reply"
    BROKER_DEATH = "SIGKILL to the broker, and it comes back"
    LEDGER_DEATH = "SIGKILL to the database, and it comes back"
    PURGE = "a queue is emptied"
    DOUBLE = "messages are sent again"
    STALE = "notifications of finished or future rounds are sent"


class Habit(NamedTuple):
    """Mean interval of one kind of act, its targets, and the range of its amount: seconds, or a number of messages."""

    every_s: float
    whom: Sequence[str]
    least: float = 0.0
    most: float = 0.0


HABITS = {
    Kind.KILL: Habit(3.0, fleet.ALL, 0.0, 0.5),
    Kind.FIRST_KILL: Habit(10.0, fleet.ALL, GONE_S, GONE_S + 0.5),
    Kind.STOP: Habit(12.0, fleet.ALL, LEASE_S * 1.2, LEASE_S * 2),
    Kind.TELL: Habit(9.0, fleet.ALL, 0.0, 0.5),
    Kind.CLOCK: Habit(4.0, fleet.ALL, -3600.0, 3600.0),
    Kind.BROKER_CUT: Habit(3.0, PLACES),
    Kind.LEDGER_CUT: Habit(3.0, PLACES),
    Kind.BROKER_DELAY: Habit(8.0, PLACES, 0.01, 0.1),
    Kind.LEDGER_DELAY: Habit(8.0, PLACES, 0.01, 0.1),
    Kind.BROKER_FREEZE: Habit(15.0, PLACES, 0.5, 2.0),
    Kind.LEDGER_FREEZE: Habit(15.0, PLACES, 0.5, 2.0),
    Kind.LEDGER_HANG: Habit(15.0, fleet.ALL, LEASE_S * 1.5, LEASE_S * 2.5),
    Kind.BROKER_UNSENT: Habit(3.0, PLACES),
    Kind.BROKER_UNHEARD: Habit(3.0, PLACES),
    Kind.LEDGER_UNSENT: Habit(2.0, PLACES),
    Kind.LEDGER_UNHEARD: Habit(2.0, PLACES),
    Kind.BROKER_DEATH: Habit(30.0, _BROKER, 0.0, 1.0),
    Kind.LEDGER_DEATH: Habit(20.0, _LEDGER, 0.0, 1.0),
    Kind.PURGE: Habit(5.0, ("queues",)),
    Kind.DOUBLE: Habit(1.0, ("jobs",), 2, 12),
    Kind.STALE: Habit(2.0, ("jobs",), 2, 12),
}


class Act(Struct, frozen=True, order=True):
    """One act. ``at_s`` counts from the beginning of the run."""

    at_s: float
    kind: Kind
    whom: str
    amount: float


def drawn(seed: int, seconds: float, calm: float = 1.0) -> list[Act]:
    """Draw all acts of a run, in order. ``calm`` multiplies the mean interval of every kind.

    Each kind has a random generator of its own, so that a change of one kind does not move the acts of another.
    """
    acts = [
        act
        for kind, habit in HABITS.items()
        for act in _acts(kind, habit._replace(every_s=habit.every_s * calm), seed, seconds)
    ]
    return sorted(acts)


def _acts(kind: Kind, habit: Habit, seed: int, seconds: float) -> list[Act]:
    rng = random.Random(f"{seed}/{kind.name}")
    found = []
    at_s = min(seconds * rng.uniform(*_FIRST_WITHIN), rng.expovariate(1 / habit.every_s))
    while at_s < seconds:
        found.append(Act(at_s, kind, rng.choice(habit.whom), rng.uniform(habit.least, habit.most)))
        at_s += rng.expovariate(1 / habit.every_s)
    return found
