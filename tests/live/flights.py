"""Sagas for workers that are killed. The fate of a journey is drawn from its key."""

import random
from collections.abc import Sequence

from sluice import Fatal, Rerun, Retry, Step, Wait, saga
from sluice.jobs.retry import fixed
from sluice.jobs.sagas.answers import Answer
from sluice.jobs.sagas.flight import Flight
from tests.scripted import Place, call_of

#: Stages of a journey.
STAGES = 5


class Stage(Step):
    """Step with a fate that is drawn from the key, so that each worker draws the same."""

    retry = fixed(seconds=0.01, times=3)

    def __init__(self, place: int, key: str) -> None:
        self.name = f"Stage{place}"
        self.place = place
        fate = random.Random(f"{key}/{place}")
        self.fails, self.stumbles, self.loops = fate.random() < 0.06, fate.random() < 0.2, fate.random() < 0.1
        self.waits, self.is_stuck = fate.random() < 0.05, fate.random() < 0.05

    def do(self, flight: Flight) -> Answer | None:
        times = Place(flight).note(call_of(flight))
        if self.stumbles and times == 1:
            return Retry("busy")
        Place(flight).make(self.place)
        if self.fails:
            raise RuntimeError(f"stage {self.place} cannot be reached")
        if self.loops and flight.working.get("pass", 0) < 2:
            flight.working["pass"] = flight.working.get("pass", 0) + 1
            return Rerun()
        flight.working["pass"] = 0
        return Wait(f"go{self.place}") if self.waits else None

    def undo(self, flight: Flight) -> Answer | None:
        times = Place(flight).note(call_of(flight))
        if self.is_stuck:
            return Fatal("the way back is blocked")
        if self.stumbles and times == 1:
            return Retry("busy")
        Place(flight).unmake(self.place)
        return None


@saga(job_id="{n}")
def journey(flight: Flight) -> Sequence[Step]:
    return [Stage(place, flight.key) for place in range(STAGES)]
