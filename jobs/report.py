"""What has become of one job so far, for programs."""

from datetime import datetime

from msgspec import Struct

from sluice.jobs.round_record import RoundRecord
from sluice.jobs.states import State


class Report(Struct, frozen=True, kw_only=True):
    """``record`` and ``log`` as in ``jobs.round_record``: ``record["0:output"]`` is what the first round printed."""

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
