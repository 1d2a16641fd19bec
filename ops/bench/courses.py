"""What contenders are given to do: the shapes, and what is read off the moments at which their jobs began.

A number names a job in all contenders alike, so that the marks can be told apart.
"""

import os
from collections.abc import Mapping, Sequence
from statistics import median, quantiles

from msgspec import Struct

from sluice.ops.bench.marks import Mark
from sluice.ops.bench.sample import Figures

#: Names a fraction of the jobs to be content with, for whoever wants to see that a course can be run at all.
VARIABLE = "SLUICE_BENCH_SCALE"
SCALE = float(os.environ.get(VARIABLE, "1"))


def scaled(count: int) -> int:
    return max(3, int(count * SCALE))


#: Jobs of ``flat``: independent of each other.
FLAT = scaled(10_000)
#: Jobs of ``chain``: each needs the one before.
CHAIN = scaled(200)
#: Fans of ``fan``, and the children that each has between its root and the job that needs all of them.
FANS, CHILDREN = scaled(5), scaled(1_000)
#: Layers of ``layers``, jobs in each, and how many of the layer before each of them needs.
LAYERS, WIDTH, NEEDS = scaled(20), scaled(50), 3
#: Diamonds of ``diamonds``: a root, two that need it, one that needs both.
DIAMONDS = scaled(1_000)
#: Who is asked by one call for many is asked for so many by a call.
BULK = 1_000
#: Before anything is measured each contender runs so many jobs of the kind that follows.
WARM_UP = scaled(200)
#: Jobs that wait while ``blocked`` runs, and their app.
WAITING, BLOCKED = scaled(100_000), "bench_blocked"
#: Jobs that have ended before ``history`` runs, at the least.
PAST = scaled(1_000_000)
#: How many jobs of ``limit`` may run at once, their app, and the processes there are for them.
LIMIT, LIMITED, LIMIT_PROCESSES = 40, "bench_limited", 4
#: How long ``start`` looks at a worker that has nothing to do.
IDLE_S = max(0.2, 10.0 * SCALE)
COURSES: Mapping[str, str] = {
    "flat": f"{FLAT:,} independent jobs, asked for at once",
    "flat-singly": "the same, asked for one by one",
    "chain": f"{CHAIN:,} jobs, each needing the one before; two processes",
    "chain-in-one": "the same; one process",
    "fan": f"{FANS:,} times one job, {CHILDREN:,} that need it, and one that needs these",
    "layers": f"{LAYERS:,} layers of {WIDTH:,} jobs, each needing {NEEDS} of the layer before",
    "diamonds": f"{DIAMONDS:,} small diamonds at once",
    "blocked": f"flat, while {WAITING:,} other jobs wait for one that does not begin, and on an empty ledger",
    "history": f"flat, after {PAST:,} jobs that have ended, and on an empty ledger",
    "limit": f"flat with no more than {LIMIT} jobs at once, and without a limit; {LIMIT_PROCESSES} processes",
    "start": f"one worker process, from its command to its first job; then {IDLE_S:g} s without any",
}
#: The longest that a course may take before it is broken off.
WITHIN_S = 300.0


class Given(Struct, frozen=True):
    """What a run of a course came to: when it was asked for, and when each job began."""

    asked_at_s: float
    accepted_at_s: float
    marks: Sequence[Mark]

    @property
    def rate(self) -> float:
        return len(self.marks) / (self.marks[-1].at_s - self.asked_at_s)


def whole(given: Given) -> Figures:
    """Of a course that is measured from the asking to the beginning of its last job."""
    return {
        "jobs_per_s": given.rate,
        "accepted_per_s": len(given.marks) / (given.accepted_at_s - given.asked_at_s),
    }


def beside(word: str, others: Figures, figures: Figures) -> Figures:
    """Of ``flat`` beside another ``flat`` of the same run, of which a word says what it was."""
    rate, others_rate = figures["jobs_per_s"], others["jobs_per_s"]
    return {**figures, f"{word}_jobs_per_s": others_rate, f"to_{word}_ratio": rate / others_rate}


def hops(given: Given) -> Figures:
    """Of a chain: from the beginning of a job to the beginning of the next."""
    gaps_ms = [
        (mark.at_s - before.at_s) * 1000 for before, mark in zip(given.marks, given.marks[1:], strict=False)
    ]
    return {"hop_ms": median(gaps_ms), "hop_p95_ms": quantiles(gaps_ms, n=20)[-1]}


def bulks(count: int) -> list[range]:
    """The first so many numbers, by calls."""
    return [range(first, min(first + BULK, count)) for first in range(0, count, BULK)]


def needs_of(place: int) -> list[int]:
    """Of the job at a place in its layer: the places in the layer before, neighbours in a ring."""
    return [(place + shift) % WIDTH for shift in range(NEEDS)]
