"""Delay between a failed attempt and the next one, as an immutable value. Jobs and the steps of sagas share it."""

from collections.abc import Mapping
from typing import Literal, Protocol

from msgspec import Struct

from sluice.jobs.text.deterministic_random import fraction

#: Exponent at which the delay stops growing, so that the power of the factor stays a finite number.
_EXPONENT_MAX = 64


class Pauses(Protocol):
    """State of one call of a step, with all its attempts."""

    def next_s(self, now_s: float, chance: float) -> float | None:
        """Return the seconds until the next attempt, or None to give up. ``chance`` is drawn from 0 (included) to 1
        (excluded).
        """
        ...


class Rule(Protocol):
    """Retry rule of a step. Users may write their own. It is an immutable value."""

    def begin(self, now_s: float) -> Pauses:
        """Return the state for a step's first attempt. ``now_s`` must be from a clock that never goes back."""
        ...


class RetryRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rule for the delay of a retry, and for the number of retries.

    ``fixed`` waits ``delay_s`` each time. ``exponential`` multiplies that by ``factor`` after each failure, up to
    ``delay_s_max``; the first delay is ``delay_s`` in any case. ``random`` draws evenly between zero and the delay of
    ``exponential``, or with ``choices`` a multiple of ``delay_s`` from 0 to below ``choices``. With ``jitter``, the
    delay is drawn evenly between half of it and all of it.

    ``times`` is the maximum number of retries. For a job it is the default of ``max_fails``. ``within_s`` is for steps
    only: a failure is retried if at most so many seconds have passed since the first attempt.
    """

    rule: Literal["fixed", "exponential", "random"] = "fixed"
    delay_s: float = 0.0
    factor: float = 2.0
    delay_s_max: float = 3600.0
    jitter: bool = False
    choices: int | None = None
    times: int | None = None
    within_s: float | None = None

    @property
    def longest_s(self) -> float:
        """Longest delay in seconds, for any number of failures."""
        if self.choices is not None:
            return self.delay_s * (self.choices - 1)
        return self.delay_s if self.rule == "fixed" else max(self.delay_s, self.delay_s_max)

    def wait_s(self, fails: int, *, seed: str) -> float:
        """Return the delay in seconds after the ``fails``-th failure.

        ``seed`` makes the drawn delay deterministic, so that planning stays pure and a replayed judgement waits the
        same time. The caller must pass a seed that differs between jobs.
        """
        is_drawn = self.jitter or self.rule == "random"
        return self.delay_after_s(fails, fraction(f"{seed}/{fails}") if is_drawn else 0.0)

    def delay_after_s(self, fails: int, chance: float) -> float:
        """Return the delay in seconds after the ``fails``-th failure, with a drawn ``chance`` from 0 to below 1."""
        if self.choices is not None:
            return int(chance * self.choices) * self.delay_s
        delay_s = self.delay_s
        if self.rule != "fixed" and fails > 1:
            delay_s = min(delay_s * self.factor ** min(fails - 1, _EXPONENT_MAX), self.delay_s_max)
        if self.rule == "random":
            return delay_s * chance
        return delay_s * (0.5 + 0.5 * chance) if self.jitter else delay_s

    def begin(self, now_s: float) -> Pauses:
        return _RulePauses(self, now_s)

    @property
    def changes(self) -> Mapping[str, object]:
        """The fields that do not have their default."""
        default = RetryRule()
        fields = {field: getattr(self, field) for field in self.__struct_fields__}
        return {field: value for field, value in fields.items() if value != getattr(default, field)}

    @property
    def options(self) -> Mapping[str, object]:
        """The rule as an option of a definition has it."""
        changes = {"rule": self.rule, **self.changes}
        return {option: changes[field] for option, field in RETRY_FIELDS.items() if field in changes}


#: By option of ``retry``: the field of ``RetryRule``.
RETRY_FIELDS: Mapping[str, str] = {
    "rule": "rule",
    "seconds": "delay_s",
    "factor": "factor",
    "max_seconds": "delay_s_max",
    "jitter": "jitter",
    "concurrency": "choices",
    "times": "times",
    "within": "within_s",
}


class _RulePauses:
    """Attempts of one call by a rule."""

    def __init__(self, rule: RetryRule, now_s: float) -> None:
        self._rule = rule
        self._began_s = now_s
        self._fails = 0

    def next_s(self, now_s: float, chance: float) -> float | None:
        rule = self._rule
        self._fails += 1
        is_late = rule.within_s is not None and now_s > self._began_s + rule.within_s
        if is_late or (rule.times is not None and self._fails > rule.times):
            return None
        return rule.delay_after_s(self._fails, chance)
