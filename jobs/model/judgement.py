"""Input and result of judging an executed round."""

from datetime import datetime

from msgspec import Struct

from sluice.jobs.model.job import Ending
from sluice.jobs.policy.retry_delay import RetryRule
from sluice.jobs.states import Verb


class Case(Struct, frozen=True, kw_only=True):
    """A job in state ``executed``. Its times are the ledger's. Nothing here depends on the time of judging.

    ``final`` and ``retry_after_s`` are requests of the run itself (see ``Outcome``).

    ``unbounded`` marks long-running work: ``consecutive_fails`` is the number of its rounds that ended since the last
    healthy one, and ``ran_s`` is the duration of this round. ``saga_open`` marks a saga with an open flight: an error
    means that all of it has been undone. ``abort_reason`` is the reason for that if nothing had failed.
    """

    id: int
    app: str
    key: str
    ending: Ending
    took_s: float | None
    executed_at: datetime
    fails: int
    max_fails: int
    end_before: datetime | None
    retry: RetryRule
    final: bool = False
    retry_after_s: float | None = None
    is_chunk: bool = False
    unbounded: bool = False
    consecutive_fails: int = 0
    ran_s: float = 0.0
    is_step: bool = False
    is_compensation: bool = False
    adds_jobs: bool = False
    saga_open: bool = False
    abort_reason: str | None = None


class Verdict(Struct, frozen=True, kw_only=True):
    """The verb to carry out. ``not_before`` is the due time of a retry. ``consecutive_fails`` is as in ``Case``,
    including this round.
    """

    id: int
    verb: Verb
    not_before: datetime | None = None
    consecutive_fails: int = 0
