"""The word ``retry_budget``: how many of an app's failed rounds are tried again in what time, so that a thousand jobs
that fail together do not all come back together, and again, to whatever they need.

It is a bucket of tries: full in the beginning, and filled again evenly. Each failed round that is to be tried again
takes one. Whoever finds it empty takes the next that there will be: he comes back later by that, and never fails by it.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct


class RetryBudget(Struct, frozen=True, kw_only=True):
    """So many ``retries`` at once, and as many more in each ``per_s`` seconds."""

    retries: int
    per_s: float

    def put_off(self, failed_at: Sequence[datetime], full_at: datetime) -> tuple[list[timedelta], datetime]:
        """How much later than else each of these rounds, the first served first, is tried again.

        ``full_at`` is when the bucket is full, if nobody takes from it; it comes back as it is after this.
        """
        apart = timedelta(seconds=self.per_s / self.retries)
        longest = timedelta(seconds=self.per_s) - apart
        waits = []
        for at in failed_at:
            taken_at = max(at, full_at - longest)
            full_at = apart + max(taken_at, full_at)
            waits.append(taken_at - at)
        return waits, full_at
