"""Urgency of a job: the order in which ready jobs run."""

from datetime import UTC, datetime
from typing import NamedTuple, Protocol, Self

_NEVER = datetime.max.replace(tzinfo=UTC)


class Urgency(NamedTuple):
    """Sort key of urgency: first the higher priority, then the earlier deadline. Jobs without a deadline are last."""

    rank: int
    by: datetime

    @classmethod
    def of(cls, priority: int, effective_deadline: datetime | None) -> Self:
        return cls(-priority, effective_deadline or _NEVER)


class Ranked(Protocol):
    """A job that may run."""

    @property
    def urgency(self) -> Urgency: ...
    @property
    def due_at(self) -> datetime: ...


def in_turn(job: Ranked) -> tuple[Urgency, datetime]:
    """Return a sort key: the most urgent job first, and of equally urgent jobs the earliest due job."""
    return job.urgency, job.due_at
