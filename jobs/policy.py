"""The rules a job runs under: how often it may fail, how long it may take, when it may start."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.allowance import Allowance
from sluice.jobs.backoff import Retry
from sluice.jobs.chance import fraction
from sluice.jobs.concurrency import Concurrency
from sluice.jobs.ref import JobName
from sluice.jobs.sagas.debug import Debug

#: How many of a job's alternatives are asked for: the first that can be met, or all at once.
Pull = Literal["first", "all"]
#: What becomes of a chunk that has failed for good: that is all, or each half of it is tried by itself.
OnFailure = Literal["fail", "bisect"]
#: Whether a job that has ended is done with, or stays uncollected until somebody archives it.
Archive = Literal["auto", "manual"]


class Policy(Struct, frozen=True, kw_only=True):
    """``max_*`` count how many fails, timeouts and lost leases a job survives.

    ``start_after`` and ``end_before`` are instants; no job starts before the one, and one that
    has not finished by the other is expired. ``random_start_offset_s`` is how long at the most a start is put off
    after that, or after it was planned. ``keep_output`` has what the ledger would cut out of the middle of an
    output stored whole, elsewhere. ``submitters_may_set`` lists options, beyond those open to every submission,
    that the author of an app leaves to its submitters.
    """

    max_fails: int = 0
    max_timeouts: int = 0
    max_losses: int = 3
    timeout_s: float | None = None
    start_after: datetime | None = None
    end_before: datetime | None = None
    random_start_offset_s: float = 0.0
    retry: Retry = Retry()
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

    def start_offset_s(self, name: JobName, seed: str) -> float | None:
        """By how much the first start of this job is put off; None where none is. ``seed`` names who asks for it, so
        that two submissions of one job draw apart and a replay draws the same."""
        if not self.random_start_offset_s:
            return None
        return self.random_start_offset_s * fraction(f"{name}/{seed}")

    def overridden(self, changes: Mapping[str, object]) -> "Policy":
        """This policy with a submission's own words laid over it (already parsed, so of the right types).

        A limit of concurrency alone leaves the pool as it is, so that nobody leaves a pool by giving one.
        """
        changed = replace(self, **changes)
        if self.concurrency is None or changed.concurrency is None or not changed.concurrency.is_limit_alone:
            return changed
        return replace(changed, concurrency=replace(self.concurrency, limit=changed.concurrency.limit))


#: What work that goes on until it is stopped runs under where nothing else is said: whenever it stops, it starts again.
UNENDING = Policy(max_fails=2**31 - 1, retry=Retry(rule="exponential", delay_s=1.0, delay_s_max=300.0))
