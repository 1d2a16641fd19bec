"""Days of tables that are made by jobs with keys, when jobs of these days have ended.

When all jobs of a day have succeeded, the day exists. If a job has run again since, the day has new contents, and
partitions that were made from the old contents become stale, as if the day had landed again (``landed_partitions``). A
partition is made from the old contents if its job began before the last success. So a day of which no end was reported
yet, because a job of it ran again at once, is handled in the same way.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial

from sluice.actors.planner.landed_partitions import end_awaited
from sluice.actors.planner.walks import outdated_jobs
from sluice.broker.messages import Message
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.resolve.tables import TableOf, table_of
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.calendar import Span
from sluice.jobs.model.app import App
from sluice.jobs.model.names import JobName
from sluice.ledger.database.connection import Tx
from sluice.ledger.keyspaces import daily_tables, partitions
from sluice.ledger.keyspaces.daily_tables import CURRENT, CompleteDay
from sluice.planner.keyspaces.partitions.daily_jobs import DailyJobs, day_of
from sluice.planner.keyspaces.partitions.partition_keys import filling_of
from sluice.planner.keyspaces.partitions.partition_relation import children
from sluice.planner.keyspaces.partitions.refill import downstream, touched
from sluice.planner.keyspaces.partitions.table_demand import ALL


def makes_days(catalogue: Catalogue, app: str) -> bool:
    """Return whether the jobs of this app make days of a table."""
    return app in catalogue and catalogue[app].table_of_days is not None


def record_days(tx: Tx, catalogue: Catalogue, ended: Sequence[int]) -> list[Message]:
    """Record the days that are complete by these ended jobs. Partitions made from other contents become stale."""
    names = daily_tables.succeeded(tx, ended, [app.name for app in catalogue.daily_makers])
    found = [*_days(catalogue, names)]
    tables = {each.name for table, _ in found for each in (table, *_readers(catalogue, table))}
    partitions.lock_tables(tx, tables)
    messages: list[Message] = []
    for table, days in found:
        changed = daily_tables.changed(tx, table.name, table.version, days)
        for day in changed:
            _mark_stale(tx, catalogue, table, day)
        if changed:
            stale = _stale_days(tx, catalogue, changed, days)
            daily_tables.record(tx, table.name, table.version, changed, stale)
            if stale:
                look = partitions.LedgerTables(tx).existing
                spans = [Span(each, each) for each in stale]
                _mark_readers(tx, catalogue, table, touched(catalogue, {table.name: spans}, look))
            messages += end_awaited(tx, table, [each.day for each in changed])
    return messages


def _days(
    catalogue: Catalogue, names: Sequence[JobName]
) -> Iterator[tuple[TableOf, Mapping[int, Sequence[JobName]]]]:
    """Yield each table with a day that one of these jobs makes, together with these days and all of their jobs.

    A job has no day if its key does not fit its app any more, or if the app's filter rejects it.
    """
    for app in catalogue.daily_makers:
        jobs = DailyJobs(catalogue, app)
        days = {
            day: jobs.of_day(day) for name in names if name.app == app.name for day in _day(app, jobs, name)
        }
        if days and app.table_of_days:
            yield table_of(catalogue, app.table_of_days), days


def _day(app: App, jobs: DailyJobs, name: JobName) -> list[int]:
    try:
        day = day_of(app, name.key)
        return [day] if name in jobs.on(day) else []
    except BadRequest:
        return []


def _readers(catalogue: Catalogue, table: TableOf) -> list[TableOf]:
    """Return the tables that are made from this one, each after its inputs."""
    return [table_of(catalogue, filling_of(app).table) for app in downstream(catalogue, [table.name])]


def _mark_stale(tx: Tx, catalogue: Catalogue, table: TableOf, day: CompleteDay) -> None:
    made = Span(day.day, day.day)
    if not _has_outdated_reader(tx, catalogue, table, day):
        return
    look = partial(daily_tables.existing, tx, since=day.since)
    spans = touched(catalogue, {table.name: [made]}, look, waiting=(CURRENT.id,))
    _mark_readers(tx, catalogue, table, spans)


def _mark_readers(tx: Tx, catalogue: Catalogue, table: TableOf, spans: Mapping[str, Sequence[Span]]) -> None:
    for each in _readers(catalogue, table):
        if each.name in spans:
            partitions.mark_stale(tx, each.name, each.version, spans[each.name])


def _stale_days(
    tx: Tx,
    catalogue: Catalogue,
    changed: Sequence[CompleteDay],
    jobs: Mapping[int, Sequence[JobName]],
) -> dict[int, datetime]:
    """Return the days with a job that began before a partition that it reads changed, each with the time of the
    change. Other jobs of such a day may have read the new contents."""
    days = {name: each.day for each in changed for name in jobs[each.day]}
    found: dict[int, datetime] = {}
    for name, job in sorted(outdated_jobs(tx, catalogue, [*days]).items()):
        found[days[name]] = min(job.since, found.get(days[name], job.since))
    return found


def _has_outdated_reader(tx: Tx, catalogue: Catalogue, table: TableOf, day: CompleteDay) -> bool:
    """Return whether a partition that reads this day was made from other contents. Usually none was, and then there is
    no need to read whole tables."""
    found = False
    for each in children(catalogue, table, Span(day.day, day.day)):
        if each.span is None:
            continue
        span = each.span if not each.endless else Span(each.span.first, ALL.last)
        daily_tables.hold_makers(tx, each.table, each.version, span)
        ranges = daily_tables.existing(tx, each.table, each.version, span, since=day.since)
        found = found or any(range_.by is None for range_ in ranges)
    return found
