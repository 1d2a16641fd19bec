"""Tries of one call of a step, by the step's rule."""

from msgspec.structs import replace

from sluice.jobs.policy.retry_delay import Rule
from sluice.jobs.sagas.environment import Means
from sluice.jobs.sagas.journal import Failure
from sluice.jobs.text.units import parse_duration_s


class Tries:
    """Tries of one call, created before the first try. Exceptions of the rule's ``begin`` are raised."""

    def __init__(self, rule: Rule, means: Means) -> None:
        self._means = means
        self._pauses = rule.begin(means.clock_s())
        self._done = 0

    def pause_s(self, failure: Failure, after_s: float | None = None) -> float | Failure:
        """Return the delay before the next attempt, or the step's failure if no attempt is left.

        ``after_s`` overrides the delay of the rule, not the number of attempts.
        """
        self._done += 1
        try:
            pause_s = self._pauses.next_s(self._means.clock_s(), self._means.chance())
            if pause_s is not None:
                return parse_duration_s(pause_s if after_s is None else after_s)
        except BaseException as error:
            # A rule may also be user code.
            return self._means.blame(error)
        times = "once" if self._done == 1 else f"{self._done} times"
        return replace(failure, message=f"{failure.message} (tried {times})".strip())
