"""The option ``rate_limit``: limits the number of starts of an app's jobs in a period of time, over all workers.

The limit is a token bucket. It holds at most ``burst`` tokens, is full at the beginning and is refilled evenly. Each
start of a round takes a token, also the start of a retry. A saga takes one for each flight, not for each time that it
continues after a wait. So at most ``burst + starts * t / per_s`` rounds start in any ``t`` seconds.
"""

import math

from msgspec import Struct

#: Starts of this many seconds are the default burst, at least one: 0.1. While jobs wait for the limit, the ticker
#: looks for tokens about as often, so a smaller burst could not use all of a high limit.
BURST_S = 0.1


class RateLimit(Struct, frozen=True, kw_only=True):
    """Limit of ``starts`` in each ``per_s`` seconds, and of ``burst`` at once.

    By default all jobs of the app share the limit. ``key`` is a text with placeholders in braces; each text that
    results has a limit of its own.
    """

    starts: int
    per_s: float
    burst: int
    key: str | None = None

    @property
    def apart_s(self) -> float:
        """Seconds in which a token is refilled."""
        return self.per_s / self.starts


def default_burst(starts: int, per_s: float) -> int:
    return max(1, math.ceil(starts / per_s * BURST_S - 1e-9))


class JobRate(Struct, frozen=True):
    """Token bucket of a job, by name, and its limit. The bucket is full again some time after its last start."""

    bucket: str
    limit: RateLimit
