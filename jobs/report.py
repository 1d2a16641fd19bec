"""Present state of one job, for programs."""

from datetime import datetime

from msgspec import Struct

from sluice.jobs.round_record import RoundRecord
from sluice.jobs.states import State


class Report(Struct, frozen=True, kw_only=True):
    """State, counters and history of a job.

    ``record`` and ``log`` are described in ``jobs.round_record``: ``record["0:output"]`` is the output of the first
    round.
    """

    app: str
    key: str
    state: State
    round: int
    fails: int
    timeouts: int
    losses: int
    not_before: datetime | None
    end_before: datetime | None
    record: RoundRecord
    log: tuple[str, ...]
