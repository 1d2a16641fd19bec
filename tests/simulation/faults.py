"""Possible faults of a drawn world."""

import random

from sluice.jobs.simulated import Faults


def drawn(rng: random.Random) -> Faults:
    """Draw a random mixture, so that some runs are mild, some wild, and some have one kind of fault alone."""

    def chance(most: float) -> float:
        return rng.choice((0.0, most * rng.random(), most))

    return Faults(
        lose=chance(0.4),
        double=chance(0.4),
        delay_s_max=rng.choice((0.0, 0.5, 8.0)),
        crash_before_commit=chance(0.1),
        crash_after_commit=chance(0.1),
        repeat_commit=chance(0.1),
        crash_between=chance(0.1),
        kill_worker_every_s=rng.choice((0.0, 20.0, 6.0)),
        freeze_worker_every_s=rng.choice((0.0, 25.0)),
        stop_worker_every_s=rng.choice((0.0, 20.0)),
    )
