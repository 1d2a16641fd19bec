"""Batches of ready jobs: many short jobs travel in one message, a long job travels alone."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from sluice.jobs.policy.priority import Ranked, in_turn

#: Seconds of work in one batch, as far as known. Batches are small so that no worker holds work that another could run.
WORK_S = 0.05
JOBS_MAX = 100
#: Jobs of unknown pace share a batch only if at least ``UNKNOWN_PARCELS_MIN`` batches result, and at most
#: ``UNKNOWN_MAX`` per batch. If they turn out to be long, the worker hands back all but the first.
UNKNOWN_PARCELS_MIN = 100
UNKNOWN_MAX = 20


class Candidate(Ranked, Protocol):
    """Ready job, as the ledger returns it."""

    @property
    def app(self) -> str: ...
    @property
    def alone(self) -> bool: ...


C = TypeVar("C", bound=Candidate)


class JobBatch(Struct, Generic[C], frozen=True):
    """Batch: jobs of one app that travel in one message."""

    app: str
    jobs: tuple[C, ...]


def parcels(ready: Iterable[C], paces_s: Mapping[str, float]) -> Iterator[JobBatch[C]]:
    """Group ready jobs into batches by app, the most urgent first; of equals, the job that was due first.

    A job that once took its worker down (``alone``) gets a batch of its own. It would take down all jobs that travel
    with it.
    """
    groups: dict[str, list[C]] = {}
    for job in sorted(ready, key=in_turn):
        if job.alone:
            yield JobBatch(job.app, (job,))
        else:
            groups.setdefault(job.app, []).append(job)
    for app, jobs in groups.items():
        rest = iter(jobs)
        size = jobs_at_once(paces_s.get(app), of=len(jobs))
        while chunk := tuple(islice(rest, size)):
            yield JobBatch(app, chunk)


def jobs_at_once(pace_s: float | None, *, of: int = 1) -> int:
    """Return how many jobs of this pace one worker takes together, given ``of`` ready jobs."""
    if pace_s is None:
        return max(1, min(UNKNOWN_MAX, of // UNKNOWN_PARCELS_MIN))
    return max(1, min(JOBS_MAX, int(WORK_S / max(pace_s, 1e-6))))
