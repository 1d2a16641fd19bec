"""What an executed round is judged by, and what it is judged to be."""

from datetime import datetime

from msgspec import Struct

from jobs.backoff import Retry
from jobs.outcome import Ending
from jobs.states import Verb


class Case(Struct, frozen=True, kw_only=True):
    """A job in state ``executed``. Its times are the ledger's; nothing here depends on when it is judged."""

    id: int
    app: str
    key: str
    ending: Ending
    took_s: float | None
    executed_at: datetime
    fails: int
    max_fails: int
    end_before: datetime | None
    retry: Retry
    is_chunk: bool = False


class Verdict(Struct, frozen=True, kw_only=True):
    """The verb to carry out; ``not_before`` is when a job that is tried again becomes due."""

    id: int
    verb: Verb
    not_before: datetime | None = None
