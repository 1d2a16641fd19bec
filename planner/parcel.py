"""How ready jobs are put together: many tiny ones travel as one message, a long one alone."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from jobs.urgency import Urgency

#: A parcel holds about this much work, as far as is known, so that no worker sits on what another could run.
WORK_S = 0.05
JOBS_MAX = 100
#: Many of an app of unknown pace are put together too, once they would come to more parcels than this; and so many at
#: the most. Should they be long, whoever gets several gives back all but the first.
PARCELS_OF_ONE = 100
UNKNOWN_MAX = 20


class Candidate(Protocol):
    """A job that may run, as the ledger hands it over."""

    @property
    def app(self) -> str: ...
    @property
    def priority(self) -> int: ...
    @property
    def urgent_by(self) -> datetime | None: ...
    @property
    def due_at(self) -> datetime: ...
    @property
    def alone(self) -> bool: ...


C = TypeVar("C", bound=Candidate)


class Parcel(Struct, Generic[C], frozen=True):
    """Jobs of one app that travel as one message."""

    app: str
    jobs: tuple[C, ...]


def parcels(ready: Iterable[C], paces_s: Mapping[str, float]) -> Iterator[Parcel[C]]:
    """Group ready jobs by app, the most urgent first, and of equals the one that was due first.

    A job that once took its worker down gets a parcel of its own, for what it does to a worker it does to all that
    travel with it.
    """
    groups: dict[str, list[C]] = {}
    for job in sorted(ready, key=lambda job: (Urgency.of(job.priority, job.urgent_by), job.due_at)):
        if job.alone:
            yield Parcel(job.app, (job,))
        else:
            groups.setdefault(job.app, []).append(job)
    for app, jobs in groups.items():
        rest = iter(jobs)
        size = jobs_at_once(paces_s.get(app), of=len(jobs))
        while chunk := tuple(islice(rest, size)):
            yield Parcel(app, chunk)


def jobs_at_once(pace_s: float | None, *, of: int = 1) -> int:
    """How many jobs of this pace one worker takes on together, ``of`` so many that are ready."""
    if pace_s is None:
        return max(1, min(UNKNOWN_MAX, of // PARCELS_OF_ONE))
    return max(1, min(JOBS_MAX, int(WORK_S / max(pace_s, 1e-6))))
