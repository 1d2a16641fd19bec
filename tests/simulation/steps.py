"""Drawn steps of sagas. A number determines their character; each answer is drawn when the step is called."""

import random
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from sluice import Fatal, Rerun, Retry, Step, Stop, Success, Wait, retry
from sluice.jobs.policy.retry_delay import Rule
from sluice.jobs.sagas.answers import Answer

_MADE = "steps_"
EVENTS = ("signed", "paid", None)
_ANSWERS = ("success", "retry", "fatal", "raise", "rerun", "wait", "stop")


class Temper(NamedTuple):
    """Probability of each answer."""

    success: float = 0.0
    retry: float = 0.0
    fatal: float = 0.0
    error: float = 0.0
    rerun: float = 0.0
    wait: float = 0.0
    stop: float = 0.0


_DOING = (
    Temper(success=1.0),
    Temper(success=0.8, stop=0.1, rerun=0.1),
    Temper(success=0.2, wait=0.8),
    Temper(success=0.4, wait=0.4, fatal=0.2),
    Temper(success=0.3, retry=0.6, fatal=0.1),
    Temper(success=0.3, fatal=0.4, error=0.3),
    Temper(success=0.3, rerun=0.4, stop=0.2, retry=0.1),
)
_UNDOING = (
    Temper(success=1.0),
    Temper(success=0.8, stop=0.1, rerun=0.1),
    Temper(success=0.4, retry=0.6),
    Temper(success=0.6, wait=0.3, rerun=0.1),
    Temper(success=0.5, fatal=0.3, error=0.2),
)


class Drawn(Step):
    """Step that is never run itself.

    The caller of ``answer`` decides when a call happens and which effects it leaves.
    """

    def __init__(self, place: int, rng: random.Random) -> None:
        self.name = f"Step{place}"
        self.retry = _drawn_rule(rng)
        self._doing, self._undoing = rng.choice(_DOING), rng.choice(_UNDOING)

    def answer(self, rng: random.Random, *, undoing: bool) -> Answer | Exception:
        """Draw the answer of one call. The caller raises an exception that is returned."""
        (word,) = rng.choices(_ANSWERS, self._undoing if undoing else self._doing)
        match word:
            case "retry":
                return Retry("drawn")
            case "fatal":
                return Fatal("drawn")
            case "raise":
                return ValueError("drawn")
            case "wait":
                return _drawn_wait(rng)
        return {"success": Success, "rerun": Rerun, "stop": Stop}[word]()


def drawn_function(rng: random.Random) -> str:
    """Draw the option ``function`` of a definition."""
    return f"{__name__}:{_MADE}{rng.randrange(1_000_000)}"


def __getattr__(name: str) -> Callable[[Any], Sequence[Step]]:
    """Return the function that makes the steps of this number."""
    number = name.removeprefix(_MADE)
    if not number.isdecimal():
        raise AttributeError(name)

    def steps(_: Any) -> Sequence[Step]:
        rng = random.Random(int(number))
        return [Drawn(place, rng) for place in range(rng.randint(1, 4))]

    return steps


def _drawn_rule(rng: random.Random) -> Rule:
    return rng.choice(
        (
            retry.none(),
            retry.fixed(seconds=1, times=2),
            retry.random(seconds=2, concurrency=4, times=3),
            retry.exponential(seconds=1, max_seconds=8, within="20s"),
        )
    )


def _drawn_wait(rng: random.Random) -> Wait:
    otherwise: Literal["undo", "go_on"] = rng.choice(("undo", "go_on"))
    return Wait(rng.choice(EVENTS), timeout=rng.choice((None, "3s", "20s")), otherwise=otherwise)
