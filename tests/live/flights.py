"""Sagas for workers that are killed. What each step calls is one line in a file, what it has done a file of its own.

``pointed`` follows its kwargs: ``answers`` has what a do or undo answers when it is first called, and ``dies``
the point at which its worker is killed, once. ``journey`` draws what becomes of it from its key.
"""

import os
import random
import signal
from collections.abc import Sequence
from pathlib import Path

from jobs import Fatal, Rerun, Retry, Step, Wait, saga
from jobs.retry import Pauses, Rule, fixed
from jobs.sagas.answers import Answer
from jobs.sagas.flight import Flight

STEPS = 3
#: Of a journey.
STAGES = 5


class Place:
    """Where one flight leaves what it does; the lines of all go to one file, whole."""

    def __init__(self, flight: Flight) -> None:
        self._lines = Path(os.environ["EFFECTS"])
        self._mine = f"{os.environ['EFFECTS']}.{flight.app}.{flight.key}"
        self._owner = f"{flight.app} {flight.key}"

    def note(self, call: str) -> int:
        """Write down a call; how often there has been one of this kind."""
        lines = os.open(self._lines, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(lines, f"{self._owner} {call}\n".encode())
        finally:
            os.close(lines)
        return self._lines.read_text().splitlines().count(f"{self._owner} {call}")

    def make(self, step: int) -> None:
        Path(f"{self._mine}.made.{step}").touch()

    def unmake(self, step: int) -> None:
        Path(f"{self._mine}.made.{step}").unlink(missing_ok=True)

    def is_first(self, mark: str) -> bool:
        """Whether nobody has come here before, over all who die."""
        try:
            os.close(os.open(f"{self._mine}.{mark}", os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True


def die_at(flight: Flight, point: str) -> None:
    if flight.inputs.get("dies") == point and Place(flight).is_first("died"):
        os.kill(os.getpid(), signal.SIGKILL)


class Witness:
    """Sees a run of a flight at every boundary, and may be the last to."""

    def __init__(self, flight: Flight) -> None:
        self._seen: dict[str, int] = {}

    def start_flight(self, flight: Flight) -> None:
        die_at(flight, "taken up")

    def start_step(self, flight: Flight) -> None:
        call = f"before {_call(flight)}"
        self._seen[call] = self._seen.get(call, 0) + 1
        die_at(flight, call if self._seen[call] == 1 else f"{call} again")

    def end_step(self, flight: Flight, answer: str) -> None:
        die_at(flight, f"behind {_call(flight)}: {answer}")

    def end_flight(self, flight: Flight, landing: str) -> None:
        die_at(flight, f"landed: {landing}")


class Deadly(Rule):
    """The worker is killed while a step waits for its next try."""

    def __init__(self, flight: Flight) -> None:
        self._flight = flight

    def begin(self, now_s: float) -> Pauses:
        return self

    def next_s(self, now_s: float, chance: float) -> float | None:
        die_at(self._flight, f"while {_call(self._flight)} is to be tried again")
        return 0.0


class Scripted(Step):
    def __init__(self, place: int, flight: Flight) -> None:
        self.name = f"Step{place}"
        self.place = place
        self.retry = Deadly(flight)

    def do(self, flight: Flight) -> Answer | None:
        answer = self._called(flight)
        Place(flight).make(self.place)
        return answer

    def undo(self, flight: Flight) -> Answer | None:
        answer = self._called(flight)
        if not isinstance(answer, Fatal):
            Place(flight).unmake(self.place)
        return answer

    def _called(self, flight: Flight) -> Answer | None:
        call = _call(flight)
        times = Place(flight).note(call)
        die_at(flight, f"in {call}")
        answers = flight.inputs.get("answers", {}).get(call, [])
        word = answers[times - 1] if times <= len(answers) else None
        made = {
            "fatal": Fatal("as it is written"),
            "retry": Retry("busy"),
            "rerun": Rerun(),
            "wait": Wait("go"),
        }
        return made[word] if word else None


@saga(job_id="{n}", hooks=[Witness])
def pointed(flight: Flight) -> Sequence[Step]:
    return [Scripted(place, flight) for place in range(STEPS)]


class Stage(Step):
    """What becomes of it is drawn from the key, so each worker draws the same."""

    retry = fixed(seconds=0.01, times=3)

    def __init__(self, place: int, key: str) -> None:
        self.name = f"Stage{place}"
        self.place = place
        fate = random.Random(f"{key}/{place}")
        self.fails, self.stumbles, self.loops = fate.random() < 0.06, fate.random() < 0.2, fate.random() < 0.1
        self.waits, self.is_stuck = fate.random() < 0.05, fate.random() < 0.05

    def do(self, flight: Flight) -> Answer | None:
        times = Place(flight).note(_call(flight))
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
        times = Place(flight).note(_call(flight))
        if self.is_stuck:
            return Fatal("the way back is blocked")
        if self.stumbles and times == 1:
            return Retry("busy")
        Place(flight).unmake(self.place)
        return None


@saga(job_id="{n}")
def journey(flight: Flight) -> Sequence[Step]:
    return [Stage(place, flight.key) for place in range(STAGES)]


def _call(flight: Flight) -> str:
    return f"{'undo' if flight.undoing else 'do'} {flight.step}"
