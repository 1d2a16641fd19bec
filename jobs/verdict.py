"""What an executed round is judged by, and what it is judged to be."""

from datetime import datetime

from msgspec import Struct

from sluice.jobs.backoff import Retry
from sluice.jobs.outcome import Ending
from sluice.jobs.states import Verb


class Case(Struct, frozen=True, kw_only=True):
    """A job in state ``executed``. Its times are the ledger's; nothing here depends on when it is judged.

    ``final`` and ``retry_after_s`` are what the run itself requested (see ``Outcome``).

    ``unbounded`` work was to go on until it is stopped: ``failing`` of its rounds have ended since the last healthy
    one, and this one went on for ``ran_s``. A saga is ``flying``: its error says that all of
    it has been undone, and ``turn_back`` why, where nothing had failed.
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
    retry: Retry
    final: bool = False
    retry_after_s: float | None = None
    is_chunk: bool = False
    unbounded: bool = False
    failing: int = 0
    ran_s: float = 0.0
    is_step: bool = False
    is_compensation: bool = False
    flying: bool = False
    turn_back: str | None = None


class Verdict(Struct, frozen=True, kw_only=True):
    """The verb to carry out; ``not_before`` is when a job that is tried again becomes due. ``failing`` as in a case,
    with this round."""

    id: int
    verb: Verb
    not_before: datetime | None = None
    failing: int = 0
