"""Rules for a job's execution: number of tries, time limits, start times."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.model.names import JobName
from sluice.jobs.notifications.rules import NotifyRule
from sluice.jobs.policy.concurrency import Concurrency
from sluice.jobs.policy.resource_limits import Allowance
from sluice.jobs.policy.retried_errors import RetriedErrors
from sluice.jobs.policy.retry_delay import RetryRule
from sluice.jobs.sagas.debug import Debug
from sluice.jobs.text.deterministic_random import fraction

#: Alternatives of a job that are requested: the first that can be met, or all of them together.
Pull = Literal["first", "all"]
#: Handling of a chunk that failed for good: it stays failed, or each half of it runs as a job of its own.
OnFailure = Literal["fail", "bisect"]
#: Whether a finished job is done, or stays uncollected until a caller archives it.
Archive = Literal["auto", "manual"]


class Policy(Struct, frozen=True, kw_only=True):
    """Rules for the execution of a job.

    ``max_*`` are the numbers of fails, timeouts and lost leases that a job survives. ``start_after`` and
    ``end_before`` are instants: no job starts before the first, and a job that has not finished by the second
    expires. ``due_within_s`` seconds after its due time a job is late, and continues.

    ``start_after`` may also be a delay, counted from planning. ``random_start_offset_s`` is the longest random
    delay of a start, counted from ``start_after`` or from planning. ``retry_on`` and ``never_retry`` are dotted names
    of classes of errors (``RetriedErrors``). With ``keep_output``, an output that the ledger would shorten is also
    stored whole as a blob. ``submitters_may_set`` lists further options that submissions may set, beyond those open to
    every submission. ``notify`` are the rules of the definition; a submission cannot replace them.
    """

    max_fails: int = 0
    max_timeouts: int = 0
    max_losses: int = 3
    timeout_s: float | None = None
    start_after: datetime | timedelta | None = None
    end_before: datetime | None = None
    due_within_s: float | None = None
    random_start_offset_s: float = 0.0
    retry: RetryRule = RetryRule()
    retry_on: tuple[str, ...] = ()
    never_retry: tuple[str, ...] = ()
    priority: int = 0
    concurrency: Concurrency | None = None
    pull: Pull = "first"
    on_failure: OnFailure = "fail"
    fail_on: Literal["exit", "stderr", "either"] = "exit"
    archive: Archive = "auto"
    env: Mapping[str, str] = {}
    env_from_os: tuple[str, ...] = ()
    cwd: str | None = None
    limits: Allowance = Allowance()
    keep_output: bool = False
    debug: Debug = Debug()
    submitters_may_set: tuple[str, ...] = ()
    notify: tuple[NotifyRule, ...] = ()

    @property
    def retried_errors(self) -> RetriedErrors:
        return RetriedErrors(self.retry_on, self.never_retry)

    @property
    def start_at(self) -> datetime | None:
        """The instant before which no job starts, or None if there is none."""
        return self.start_after if isinstance(self.start_after, datetime) else None

    @property
    def start_delay_s(self) -> float:
        """Seconds between planning and the first start."""
        return self.start_after.total_seconds() if isinstance(self.start_after, timedelta) else 0.0

    def start_offset_s(self, name: JobName, seed: str) -> float | None:
        """Return the delay in seconds of this job's first start, or None.

        ``seed`` names the requester, so that two submissions of one job draw different delays and a replay draws the
        same.
        """
        if not self.random_start_offset_s:
            return self.start_delay_s or None
        return self.start_delay_s + self.random_start_offset_s * fraction(f"{name}/{seed}")

    def overridden(self, changes: Mapping[str, object]) -> "Policy":
        """Return this policy with a submission's options over it. They must be parsed already, so that their types
        are right.

        A concurrency limit without a key or pool leaves the pool as it is, so that a submission cannot leave a pool
        by setting one.
        """
        changed = replace(self, **changes)
        if self.concurrency is None or changed.concurrency is None or not changed.concurrency.is_limit_alone:
            return changed
        return replace(changed, concurrency=replace(self.concurrency, limit=changed.concurrency.limit))


#: Default policy of long-running work: whenever it stops, it starts again.
UNENDING = Policy(max_fails=2**31 - 1, retry=RetryRule(rule="exponential", delay_s=1.0, delay_s_max=300.0))
