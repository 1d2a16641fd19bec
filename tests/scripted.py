"""A saga that follows the script in its kwargs, with the answers of its calls and the death of its worker.

``steps``    number of steps, default: 3
``answers``  for a call (``do 1``), its answers at the first call, the second, and so on: the name of an answer, and
             after a colon its text; when none is left, it succeeds
``puts``     for a call, the values that it puts into the working map; ``"claim"`` stands for its claim
``rule``     ``[seconds, times]`` of a fixed retry rule, which all flights share, or ``"none"``
``dies``     the point at which the worker is killed, once or ``deaths`` times
``lingers``  the call that lasts until its worker is stopped; ``do 1 time 3`` is its third call
``hangs``    the call that lasts until a file ``over`` exists
``breaks``   the steps cannot be made if ``BROKEN`` is in the environment

Each call writes a line to one file, and its inputs to another. The effect of each step is a file.
"""

import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from sluice import Fatal, Rerun, Retry, Step, Stop, Success, Wait, saga
from sluice.jobs.policy.retry_delay import Pauses, Rule
from sluice.jobs.retry import fixed, none
from sluice.jobs.sagas.answers import Answer
from sluice.jobs.sagas.flight import Flight
from tests.appending import append

STEPS = 3
_LOOK_EVERY_S = 0.02


class Place:
    """Files of one flight. The lines of all flights go to one file, and are written atomically."""

    def __init__(self, flight: Flight) -> None:
        self._lines = Path(os.environ["EFFECTS"])
        self._mine = f"{os.environ['EFFECTS']}.{flight.app}.{flight.key}"
        self._owner = f"{flight.app} {flight.key}"

    def note(self, call: str) -> int:
        """Note a call. Return how often this call was noted."""
        append(self._lines, f"{self._owner} {call}")
        return self._lines.read_text().splitlines().count(f"{self._owner} {call}")

    def find(self, **found: Any) -> None:
        """Note the inputs of a call at its beginning."""
        append(Path(f"{self._mine}.found"), json.dumps(found))

    def make(self, step: int) -> None:
        Path(f"{self._mine}.made.{step}").touch()

    def unmake(self, step: int) -> None:
        Path(f"{self._mine}.made.{step}").unlink(missing_ok=True)

    def is_first(self, mark: str) -> bool:
        """Return whether no process has used this mark before, over all deaths."""
        try:
            os.close(os.open(f"{self._mine}.{mark}", os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    @property
    def is_over(self) -> bool:
        return self._lines.with_name("over").exists()


def die_at(flight: Flight, point: str) -> None:
    if flight.inputs.get("dies") != point:
        return
    marks = ["died", *(f"died.{n}" for n in range(2, flight.inputs.get("deaths", 1) + 1))]
    if any(map(Place(flight).is_first, marks)):
        os.kill(os.getpid(), signal.SIGKILL)


class Witness:
    """Hook that observes a run of a flight at every boundary, and may kill the worker there."""

    def __init__(self, flight: Flight) -> None:
        self._seen: dict[str, int] = {}

    def start_flight(self, flight: Flight) -> None:
        die_at(flight, "taken up")

    def start_step(self, flight: Flight) -> None:
        call = f"before {call_of(flight)}"
        self._seen[call] = self._seen.get(call, 0) + 1
        die_at(flight, call if self._seen[call] == 1 else f"{call} again")

    def end_step(self, flight: Flight, answer: str) -> None:
        die_at(flight, f"behind {call_of(flight)}: {answer}")

    def end_flight(self, flight: Flight, landing: str) -> None:
        die_at(flight, f"landed: {landing}")


class Deadly(Rule):
    """Retry rule that may kill the worker while a step waits for its next try."""

    def __init__(self, flight: Flight) -> None:
        self._flight = flight

    def begin(self, now_s: float) -> Pauses:
        return self

    def next_s(self, now_s: float, chance: float) -> float | None:
        die_at(self._flight, f"while {call_of(self._flight)} waits for its retry")
        return 0.0


def _odd(_: str) -> Any:
    return 17


def _raises(make: Callable[[str], BaseException]) -> Callable[[str], Any]:
    def answer(text: str) -> Any:
        raise make(text)

    return answer


_ANSWERS: Mapping[str, Callable[[str], Answer | None]] = {
    "success": lambda _: Success(),
    "fatal": lambda text: Fatal(text or "as it is written"),
    "retry": lambda text: Retry(text or "busy"),
    "rerun": lambda _: Rerun(),
    "wait": lambda text: Wait(text or "go"),
    "stop": lambda _: Stop(),
    "odd": _odd,
    "raise": _raises(ValueError),
    "raise retry": _raises(Retry),
    "raise memory": _raises(MemoryError),
    "exit": _raises(SystemExit),
}


class Scripted(Step):
    def __init__(self, place: int, flight: Flight) -> None:
        self.name = f"Step{place}"
        self.place = place
        self.retry = _rule(flight)
        self.called = 0

    def do(self, flight: Flight) -> Answer | None:
        word = self._called(flight)
        Place(flight).make(self.place)
        return _answer(word)

    def undo(self, flight: Flight) -> Answer | None:
        answer = _answer(self._called(flight))
        if isinstance(answer, Answer) and not isinstance(answer, Fatal | Retry):
            Place(flight).unmake(self.place)
        return answer

    def _called(self, flight: Flight) -> str:
        script, call = flight.inputs, call_of(flight)
        self.called += 1
        Place(flight).find(
            call=call, working=dict(flight.working), called=self.called, events=dict(flight.events)
        )
        times = Place(flight).note(call)
        for name, value in script.get("puts", {}).get(call, {}).items():
            flight.working[name] = flight.claim if value == "claim" else value
        flight.progress(times, name=call)
        this = call if times == 1 else f"{call} time {times}"
        die_at(flight, f"in {call}")
        if times > 1:
            die_at(flight, f"in {this}")
        while script.get("lingers") == this and not flight.cancelled:
            time.sleep(_LOOK_EVERY_S)
        while script.get("hangs") == this and not Place(flight).is_over:
            time.sleep(_LOOK_EVERY_S)
        answers = script.get("answers", {}).get(call, [])
        return str(answers[times - 1]) if times <= len(answers) else "success"


def _answer(word: str) -> Answer | None:
    name, _, text = word.partition(": ")
    return _ANSWERS[name](text)


def _rule(flight: Flight) -> Rule:
    written = flight.inputs.get("rule")
    if written is None:
        return Deadly(flight)
    return none() if written == "none" else _fixed(*written)


@cache
def _fixed(seconds: float, times: int) -> Rule:
    """Return one rule for all flights with the same script."""
    return fixed(seconds, times)


@saga(job_id="{n}", hooks=[Witness])
def pointed(flight: Flight) -> Sequence[Step]:
    if flight.inputs.get("breaks") and "BROKEN" in os.environ:
        raise LookupError("its steps are gone")
    return [Scripted(place, flight) for place in range(flight.inputs.get("steps", STEPS))]


def call_of(flight: Flight) -> str:
    return f"{'undo' if flight.undoing else 'do'} {flight.step}"
