"""How ready jobs are put together: many tiny ones travel as one message, a long one alone."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from sluice.jobs.urgency import Ranked, in_turn

#: A parcel holds about this much work, as far as is known, so that no worker sits on what another could run.
WORK_S = 0.05
JOBS_MAX = 100
#: Jobs of unknown pace travel together where so many parcels are left all the same, and so many in each at the most.
#: Should they be long, whoever gets several gives back all but the first.
UNKNOWN_PARCELS_MIN = 100
UNKNOWN_MAX = 20


class Candidate(Ranked, Protocol):
    """A job that may run, as the ledger hands it over."""

    @property
    def app(self) -> str: ...
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
    for job in sorted(ready, key=in_turn):
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
        return max(1, min(UNKNOWN_MAX, of // UNKNOWN_PARCELS_MIN))
    return max(1, min(JOBS_MAX, int(WORK_S / max(pace_s, 1e-6))))
