"""Delay between a failed round and the next one, as an immutable value."""

from typing import Literal

from msgspec import Struct

from sluice.jobs.text.deterministic_random import fraction


class RetryRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rule for the delay of a retry.

    ``fixed`` waits ``delay_s`` each time. ``exponential`` multiplies that by ``factor`` after each failure, up to
    ``delay_s_max``. ``random`` draws evenly between zero and the delay of ``exponential``.
    """

    rule: Literal["fixed", "exponential", "random"] = "fixed"
    delay_s: float = 0.0
    factor: float = 2.0
    delay_s_max: float = 3600.0

    @property
    def longest_s(self) -> float:
        """Longest delay in seconds, for any number of failures."""
        return self.delay_s if self.rule == "fixed" else max(self.delay_s_max, 0.0)

    def wait_s(self, fails: int, *, seed: str) -> float:
        """Return the delay in seconds after the ``fails``-th failure.

        ``seed`` makes the random rule deterministic, so that planning stays pure and a replayed judgement waits the
        same time. The caller must pass a seed that differs between jobs.
        """
        if self.rule == "fixed":
            return self.delay_s
        ceiling_s = min(self.delay_s * self.factor ** min(fails - 1, 64), self.delay_s_max)
        return ceiling_s if self.rule == "exponential" else ceiling_s * fraction(f"{seed}/{fails}")
