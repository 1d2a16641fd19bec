"""How long a failed round waits before the next: a rule as an immutable value."""

from typing import Literal

from msgspec import Struct

from sluice.jobs.chance import fraction


class Retry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``fixed`` waits ``delay_s`` each time; ``exponential`` multiplies it by ``factor`` up to
    ``delay_s_max``; ``random`` draws evenly between zero and what ``exponential`` would wait."""

    rule: Literal["fixed", "exponential", "random"] = "fixed"
    delay_s: float = 0.0
    factor: float = 2.0
    delay_s_max: float = 3600.0

    @property
    def longest_s(self) -> float:
        """No delay is longer, however often it has failed."""
        return self.delay_s if self.rule == "fixed" else max(self.delay_s_max, 0.0)

    def wait_s(self, fails: int, *, seed: str) -> float:
        """The delay after the ``fails``-th failure.

        ``seed`` makes the random rule a function, so that planning stays pure and a replayed
        judgement waits the same time; the caller passes something that differs between jobs.
        """
        if self.rule == "fixed":
            return self.delay_s
        ceiling_s = min(self.delay_s * self.factor ** min(fails - 1, 64), self.delay_s_max)
        return ceiling_s if self.rule == "exponential" else ceiling_s * fraction(f"{seed}/{fails}")
