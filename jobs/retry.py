"""When a step that asked to be tried again is: rules as immutable values, ``retry.fixed(seconds=2, times=4)``.

A rule is shared by as many steps and flights as like to; what it counts while a step is tried is the ``Pauses`` that
it ``begins``. The names of this module are what users write after ``retry.``.
"""

from typing import Protocol

from msgspec import Struct

from sluice.jobs.durations import parse_duration_s


class Pauses(Protocol):
    """One call of a step, with all its tries."""

    def next_s(self, now_s: float, chance: float) -> float | None:
        """How long to wait before the next try; None where it is given up. ``chance`` is drawn from 0 to below 1."""
        ...


class Rule(Protocol):
    """A value: it does not change."""

    def begin(self, now_s: float) -> Pauses:
        """A step is about to be called for the first time. ``now_s`` is of a clock that never goes back."""
        ...


def none() -> Rule:
    """It is not tried again."""
    return _Counted(times=0, seconds=0.0)


def fixed(seconds: float | str, times: int) -> Rule:
    """Tried again up to so many times, each time after so long."""
    return _Counted(times=_count(times), seconds=parse_duration_s(seconds))


def random(seconds: float | str, concurrency: int, times: int) -> Rule:
    """Likewise, after a whole multiple of ``seconds`` below ``concurrency``, drawn each time: so many who failed
    together do not come back together."""
    if _count(concurrency) < 1:
        raise ValueError("concurrency is how many there are to draw from, so it is at least 1")
    return _Counted(times=_count(times), seconds=parse_duration_s(seconds), choices=concurrency)


def exponential(seconds: float | str, seconds_max: float | str, within: float | str) -> Rule:
    """Tried again after ``seconds``, then after twice as long, and so on up to ``seconds_max``, for as long as no more
    than ``within`` has passed since the first try when one fails."""
    return _Doubling(
        seconds=parse_duration_s(seconds),
        seconds_max=parse_duration_s(seconds_max),
        within_s=parse_duration_s(within),
    )


class _Counted(Struct, frozen=True, kw_only=True):
    """``choices`` of None always waits for ``seconds``; else a drawn number of them, from 0 on, is waited for."""

    times: int
    seconds: float
    choices: int | None = None

    def begin(self, now_s: float) -> Pauses:  # noqa: ARG002  # Only the other rule looks at the time.
        return _Counting(self)


class _Counting:
    def __init__(self, rule: _Counted) -> None:
        self._rule = rule
        self._tried_again = 0

    def next_s(self, now_s: float, chance: float) -> float | None:  # noqa: ARG002  # Only the random rule draws.
        self._tried_again += 1
        if self._tried_again > self._rule.times:
            return None
        if self._rule.choices is None:
            return self._rule.seconds
        return int(chance * self._rule.choices) * self._rule.seconds


class _Doubling(Struct, frozen=True, kw_only=True):
    """The first pause is ``seconds`` even where ``seconds_max`` is less."""

    seconds: float
    seconds_max: float
    within_s: float

    def begin(self, now_s: float) -> Pauses:
        return _Growing(self, now_s)


class _Growing:
    def __init__(self, rule: _Doubling, now_s: float) -> None:
        self._rule = rule
        self._ends_s = now_s + rule.within_s
        self._next_s = rule.seconds

    def next_s(self, now_s: float, chance: float) -> float | None:  # noqa: ARG002  # Nothing is drawn.
        if now_s > self._ends_s:
            return None
        pause_s = self._next_s
        self._next_s = min(2 * pause_s, self._rule.seconds_max)
        return pause_s


def _count(times: int) -> int:
    if isinstance(times, bool) or not isinstance(times, int) or times < 0:
        raise ValueError(f"{times!r} is not a whole number from 0 on")
    return times
