"""The option ``retry_budget``: limits the number of retries of an app in a period of time.

It prevents a thousand jobs that fail together from all being retried together, again and again, against the service
that they need.

The budget is a token bucket. It is full at the beginning and is refilled evenly. Each failed round that will be
retried takes a token. If the bucket is empty, it takes the next future token: its retry is delayed until then, and
never refused.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct


class RetryBudget(Struct, frozen=True, kw_only=True):
    """Budget of ``retries`` tokens, refilled with as many in each ``per_s`` seconds."""

    retries: int
    per_s: float

    def put_off(self, failed_at: Sequence[datetime], full_at: datetime) -> tuple[list[timedelta], datetime]:
        """Return the extra delay of each of these rounds, and the new ``full_at``. The first round is served first.

        ``full_at`` is the time at which the bucket will be full if no token is taken.
        """
        apart = timedelta(seconds=self.per_s / self.retries)
        longest = timedelta(seconds=self.per_s) - apart
        waits = []
        for at in failed_at:
            taken_at = max(at, full_at - longest)
            full_at = apart + max(taken_at, full_at)
            waits.append(taken_at - at)
        return waits, full_at
