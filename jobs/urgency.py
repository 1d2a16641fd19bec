"""How urgent a job is: which of two that may run is run first."""

from datetime import UTC, datetime
from typing import NamedTuple, Protocol, Self

_NEVER = datetime.max.replace(tzinfo=UTC)


class Urgency(NamedTuple):
    """Sorts first what is to be run first: the higher priority, then the earlier deadline; none is the last."""

    rank: int
    by: datetime

    @classmethod
    def of(cls, priority: int, urgent_by: datetime | None) -> Self:
        return cls(-priority, urgent_by or _NEVER)


class Ranked(Protocol):
    """A job that may run."""

    @property
    def urgency(self) -> Urgency: ...
    @property
    def due_at(self) -> datetime: ...


def in_turn(job: Ranked) -> tuple[Urgency, datetime]:
    """By this the most urgent come first, and of equals who was due first."""
    return job.urgency, job.due_at
