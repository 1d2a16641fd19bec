"""Steps of walks, for several submissions together: one query per step for all, and each may fail alone."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import NoReturn, TypeVar

from msgspec.structs import replace

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.calendar import Span
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import JobPlan, KnownJob
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.job_graph import known_jobs
from sluice.ledger.keyspaces import daily_tables
from sluice.ledger.keyspaces.daily_tables import JobReading, OutdatedJob
from sluice.planner.bubble_up.walk import Walk
from sluice.planner.keyspaces.chunks.chunk_inputs import ChunkInputWalk
from sluice.planner.keyspaces.chunks.chunk_plan import Chunked
from sluice.planner.keyspaces.partitions.daily_jobs import DAYS, day_of
from sluice.planner.keyspaces.partitions.table_readings import compared

W = TypeVar("W", bound=Walk)

#: Called with the number of a submission that cannot be carried out, and the reason.
Refuse = Callable[[int, str], None]


def arrive(tx: Tx, catalogue: Catalogue, walks: list[W], now: datetime | None, refuse: Refuse) -> list[W]:
    """Return the walks that reach their end."""
    look = known_jobs.find_with_ages if now else known_jobs.find
    walking, arrived = walks, [walk for walk in walks if walk.arrived]
    while walking := [walk for walk in walking if not walk.arrived]:
        asked = sorted({name for walk in walking for name in walk.asks()})
        known = with_outdated(tx, catalogue, look(tx, asked))
        walking = [walk for walk in walking if attempt(partial(walk.step, known), walk.number, refuse)]
        arrived += [walk for walk in walking if walk.arrived]
    return arrived


def attempt(step: Callable[[], W], number: int, refuse: Refuse) -> W | None:
    """Take one step, or refuse its submission with the reason.

    Every exception is caught, because filters and two-way functions are users' code, and a batch must not fail because
    of one row.
    """
    try:
        return step()
    except BadRequest as error:
        refuse(number, error.reason)
    except Exception as error:
        refuse(number, f"{type(error).__name__}: {error}")
    return None


def stop(number: int, reason: str) -> NoReturn:
    """Refuse a submission by an exception, because its transaction plans nothing else."""
    raise BadRequest(reason)


def with_inputs(
    tx: Tx, catalogue: Catalogue, submission: Submission, chunked: Chunked, number: int
) -> JobPlan:
    """Return the plan of the chunks, together with the jobs with keys that they need."""
    plan = chunked.plan(number)
    if chunked.waits_for or not chunked.needs_keys:
        return plan
    now = tx.current_time() if any(catalogue.minds_age(job.name.app) for job in chunked.jobs) else None
    walk = ChunkInputWalk(catalogue, number, submission, now, chunks=chunked.jobs)
    (arrived,) = arrive(tx, catalogue, [walk], now, stop)
    return arrived.plan(plan)


def with_outdated(
    tx: Tx, catalogue: Catalogue, known: Mapping[JobName, KnownJob]
) -> Mapping[JobName, KnownJob]:
    """Return these jobs. Jobs that began before a partition that they read changed are marked as outdated."""
    if not catalogue.has_table_readers:
        return known
    succeeded = [
        name
        for name, job in known.items()
        if job.state is State.SUCCEEDED and name.app in catalogue and catalogue[name.app].reads_tables
    ]
    outdated = outdated_jobs(tx, catalogue, succeeded)
    marked = {name: replace(known[name], is_outdated=True, claim=job.claim) for name, job in outdated.items()}
    return {**known, **marked}


def outdated_jobs(tx: Tx, catalogue: Catalogue, names: list[JobName]) -> dict[JobName, OutdatedJob]:
    """Return the jobs among these that have succeeded and must run again because of a partition that they read."""
    return daily_tables.outdated(tx, (each for name in names for each in _readings(catalogue, name)))


def _readings(catalogue: Catalogue, name: JobName) -> Iterator[JobReading]:
    app = catalogue[name.app]
    for each in compared(catalogue, name):
        yield JobReading(name, *each)
    if app.daily:
        day = day_of(app, name.key)
        yield JobReading(name, app.daily.table, DAYS.unit, Span(day, day), own=True)
