"""Tables that jobs with keys read: the days of such jobs, and the partitions that they need."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.keys.calendar import Span
from sluice.jobs.model.app import App
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import EntryState, PlannedJob
from sluice.planner.keyspaces.partitions.daily_jobs import day_of
from sluice.planner.keyspaces.partitions.partition_keys import filling_of


class ReadPartitions(NamedTuple):
    """Partitions of a table in a version."""

    table: str
    version: str
    span: Span


def days_to_run(catalogue: Catalogue, jobs: Iterable[PlannedJob]) -> Iterator[tuple[App, int]]:
    """Yield the app and the day of each job among these that will run, or may run, and reads tables."""
    for job in jobs:
        if will_read(catalogue, job):
            app = catalogue[job.name.app]
            yield app, day_of(app, job.name.key)


def will_read(catalogue: Catalogue, job: PlannedJob) -> bool:
    """Return whether a planned job reads tables when it runs. A job that stays as it is has no digest in the plan."""
    return (
        job.standing is EntryState.WANTED and job.digest is not None and catalogue[job.name.app].reads_tables
    )


def compared(catalogue: Catalogue, name: JobName) -> Iterator[ReadPartitions]:
    """Yield the partitions by which a job with a key is outdated if they have changed since it began.

    Cumulative tables, and tables that are read from their beginning, are left out: a new partition is no change.
    If such a table's partition lands again, the job's own day is marked as stale.
    """
    app = catalogue[name.app]
    if not app.reads_tables:
        return
    own, day = filling_of(app), day_of(app, name.key)
    for each in own.dependencies:
        reach = each.needed_for(Span(day, day), own.calendar)
        if reach is not None and reach.first is not None and not each.cumulative:
            version = each.version or each.calendar.unit
            yield ReadPartitions(each.table, version, Span(reach.first, reach.last))
