"""Retry rules for the steps of a saga, as immutable values: ``retry.fixed(seconds=2, times=4)``.

Any number of steps and flights may share a rule. The state of one step's tries is in the ``Pauses`` that the rule
creates (``begin``). The names of this module are the names that users write after ``retry.``.
"""

from typing import Protocol

from msgspec import Struct

from sluice.jobs.text.units import parse_duration_s


class Pauses(Protocol):
    """State of one call of a step, with all its tries."""

    def next_s(self, now_s: float, chance: float) -> float | None:
        """Return the seconds until the next try, or None to give up. ``chance`` is drawn from 0 (included) to 1
        (excluded).
        """
        ...


class Rule(Protocol):
    """Retry rule. It is an immutable value."""

    def begin(self, now_s: float) -> Pauses:
        """Return the state for a step's first try. ``now_s`` must be from a clock that never goes back."""
        ...


def none() -> Rule:
    """Return a rule that never retries."""
    return _Counted(times=0, seconds=0.0)


def fixed(seconds: float | str, times: int) -> Rule:
    """Return a rule that retries up to ``times`` times, each time after ``seconds``."""
    return _Counted(times=_count(times), seconds=parse_duration_s(seconds))


def random(seconds: float | str, concurrency: int, times: int) -> Rule:
    """Return a rule that retries up to ``times`` times, after a random multiple of ``seconds``.

    The factor is a whole number from 0 to below ``concurrency``, drawn each time. So steps that failed together are
    spread over that many times.
    """
    if _count(concurrency) < 1:
        raise ValueError("concurrency is the number of delays to choose from, so it is at least 1")
    return _Counted(times=_count(times), seconds=parse_duration_s(seconds), choices=concurrency)


def exponential(seconds: float | str, seconds_max: float | str, within: float | str) -> Rule:
    """Return a rule that waits ``seconds``, then twice as long after each failure, up to ``seconds_max``.

    It retries a failure if at most ``within`` has passed since the first try.
    """
    return _Doubling(
        seconds=parse_duration_s(seconds),
        seconds_max=parse_duration_s(seconds_max),
        within_s=parse_duration_s(within),
    )


class _Counted(Struct, frozen=True, kw_only=True):
    """Rule with a number of tries.

    If ``choices`` is None, the delay is ``seconds``. Otherwise it is a drawn multiple of ``seconds``, from 0 to below
    ``choices``.
    """

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
    """Rule with doubling delays. The first delay is ``seconds`` even if ``seconds_max`` is less."""

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
