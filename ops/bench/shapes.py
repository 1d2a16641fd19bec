"""Benchmarks that several contenders run: their shapes, and the figures computed from the times at which their jobs
began.

A number identifies a job in the same way for all contenders, so that marks can be matched to jobs.
"""

import os
from collections.abc import Mapping, Sequence
from statistics import median, quantiles

from msgspec import Struct

from sluice.ops.bench.sample import Figures
from sluice.ops.bench.timestamps import Timestamp

#: Environment variable with the fraction of the jobs to run. Small values only check that a benchmark can be run.
VARIABLE = "SLUICE_BENCH_SCALE"
SCALE = float(os.environ.get(VARIABLE, "1"))


def scaled(count: int) -> int:
    return max(3, int(count * SCALE))


#: Jobs of ``flat``, which are independent of each other.
FLAT = scaled(10_000)
#: Jobs of ``chain``. Each needs the job before it.
CHAIN = scaled(200)
#: Fans of ``fan``, and the number of children between the root of a fan and the job that needs all of them.
FANS, CHILDREN = scaled(5), scaled(1_000)
#: Layers of ``layers``, jobs in each layer, and jobs of the layer before that each job needs.
LAYERS, WIDTH, NEEDS = scaled(20), scaled(50), 3
#: Diamonds of ``diamonds``: a root, two jobs that need it, and a job that needs both.
DIAMONDS = scaled(1_000)
#: Jobs per call, for contenders that have a call for several jobs.
BULK = 1_000
#: Jobs of the measured kind that each contender runs first, to warm up.
WARM_UP = scaled(200)
#: Jobs that wait while ``blocked`` runs, and their app.
WAITING, BLOCKED = scaled(100_000), "bench_blocked"
#: Least number of jobs that have ended before ``history`` runs.
PAST = scaled(1_000_000)
#: Jobs of ``limit`` that may run at the same time, their app, and the number of worker processes for them.
LIMIT, LIMITED, LIMIT_PROCESSES = 40, "bench_limited", 4
#: Seconds for which ``start`` measures a worker that has no job.
IDLE_S = max(0.2, 10.0 * SCALE)
COURSES: Mapping[str, str] = {
    "flat": f"{FLAT:,} independent jobs, submitted at once",
    "flat-singly": "the same, submitted one by one",
    "chain": f"{CHAIN:,} jobs, each needing the job before; two processes",
    "chain-in-one": "the same; one process",
    "fan": f"{FANS:,} times one job, {CHILDREN:,} jobs that need it, and one job that needs these",
    "layers": f"{LAYERS:,} layers of {WIDTH:,} jobs, each needing {NEEDS} of the layer before",
    "diamonds": f"{DIAMONDS:,} small diamonds at once",
    "blocked": f"flat, while {WAITING:,} other jobs wait for a job that does not begin, and on an empty ledger",
    "history": f"flat, after {PAST:,} ended jobs, and on an empty ledger",
    "limit": f"flat with no more than {LIMIT} jobs at once, and without a limit; {LIMIT_PROCESSES} processes",
    "start": f"one worker process, from its command to its first job; then {IDLE_S:g} s without a job",
}
#: Seconds after which a benchmark is aborted.
WITHIN_S = 300.0


class RunTimes(Struct, frozen=True):
    """Times of one run: when it was requested, when the requests were accepted, and when each job began."""

    asked_at_s: float
    accepted_at_s: float
    marks: Sequence[Timestamp]

    @property
    def rate(self) -> float:
        return len(self.marks) / (self.marks[-1].at_s - self.asked_at_s)


def whole(given: RunTimes) -> Figures:
    """Return the figures of a benchmark that is measured from the request until its last job begins."""
    return {
        "jobs_per_s": given.rate,
        "accepted_per_s": len(given.marks) / (given.accepted_at_s - given.asked_at_s),
    }


def beside(word: str, others: Figures, figures: Figures) -> Figures:
    """Compare a run of ``flat`` with another run of ``flat`` in the same process. ``word`` names the other run in the
    figures.
    """
    rate, others_rate = figures["jobs_per_s"], others["jobs_per_s"]
    return {**figures, f"{word}_jobs_per_s": others_rate, f"to_{word}_ratio": rate / others_rate}


def hops(given: RunTimes) -> Figures:
    """Return the figures of a chain: the times from the beginning of a job to the beginning of the next job."""
    gaps_ms = [
        (mark.at_s - before.at_s) * 1000 for before, mark in zip(given.marks, given.marks[1:], strict=False)
    ]
    return {"hop_ms": median(gaps_ms), "hop_p95_ms": quantiles(gaps_ms, n=20)[-1]}


def bulks(count: int) -> list[range]:
    """Split the first ``count`` numbers into ranges, one for each call."""
    return [range(first, min(first + BULK, count)) for first in range(0, count, BULK)]


def needs_of(place: int) -> list[int]:
    """Return the places in the previous layer that the job at a place in its layer needs. They are neighbours in a
    ring.
    """
    return [(place + shift) % WIDTH for shift in range(NEEDS)]
