"""JSON document of a plan for a submission about partitions, in the format of ``ops.documents.plan_document``."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from operator import itemgetter
from typing import TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from sluice.jobs.keys.calendar import Calendar, Span
from sluice.jobs.keys.partitions import ends_of, span_text
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import EntryState, KnownJob, PlannedJob
from sluice.ops.documents.chunk_plan_document import awaited_entry, fresh_entry, with_ages
from sluice.ops.documents.plan_document import PlanDocument, PlanEntry, PlannedDocument, as_document
from sluice.planner.keyspaces.partitions.partition_keys import partitioning_of, text_of
from sluice.planner.keyspaces.partitions.partition_plan import Layout
from sluice.planner.keyspaces.partitions.ranges import united
from sluice.planner.keyspaces.partitions.table_demand import Supply
from sluice.planner.preview.forecast import Outlook
from sluice.planner.preview.preview import Preview
from sluice.planner.preview.table_preview import TablePreview

D = TypeVar("D", PlannedDocument, PlanEntry)


def as_partition_document(
    found: TablePreview, paces_s: Mapping[str, float], *, now: datetime
) -> PlanDocument:
    """Return the jobs that would run, the jobs under way that they share, the external partitions that have to land,
    and the existing partitions. Adjacent external or existing partitions are joined into one span.
    """
    layout = found.layout
    known = {job.name: job for supply in layout.supplies for job in supply.joined}
    steps = {job.name: job for supply in layout.supplies for job in _jobs(layout, supply)}
    if found.waits_for:
        awaited = [*map(awaited_entry, found.waits_for)]
        return PlanDocument(jobs=[], satisfied=[], waits_for=awaited, errors=[])
    document = with_ages(as_document(_whole(found, known, steps), paces_s, now=now), found.ages, now)
    return replace(
        document,
        jobs=[_spanned(job) for job in document.jobs],
        satisfied=[
            *document.satisfied,
            *(fresh_entry(each, now) for each in found.fresh),
            *(each for supply in layout.supplies for each in _satisfied(supply)),
        ],
        waits_for=[
            *map(_spanned, document.waits_for),
            *(each for supply in layout.supplies for each in _to_come(supply)),
        ],
    )


def _whole(
    found: TablePreview, known: Mapping[JobName, KnownJob], steps: Mapping[JobName, PlannedJob]
) -> Preview:
    """Return the preview of all jobs, with keys and of steps."""
    keyed = found.keyed or Preview(jobs=(), known={}, outlook=Outlook((), {}))
    known = {**keyed.known, **known}
    jobs = found.in_order([*steps.values(), *keyed.jobs])
    states = {name: job.state for name, job in known.items()}
    outlook = Outlook(jobs, states, again=keyed.outlook.again)
    return replace(keyed, jobs=jobs, known=known, outlook=outlook)


def _spanned(job: D) -> D:
    return replace(job, span=(job.key and ends_of(job.key)) or UNSET)


def _jobs(layout: Layout, supply: Supply) -> Iterator[PlannedJob]:
    """Return new jobs and jobs under way in the order of their partitions."""
    if supply.daily_jobs:
        return iter(())
    steps = {step.first: job for step, job in zip(supply.steps, layout.jobs(supply), strict=True)}
    joined = {
        _first(supply.calendar, job.name): PlannedJob(name=job.name, standing=EntryState.WANTED)
        for job in supply.joined
    }
    return (job for _, job in sorted({**steps, **joined}.items(), key=itemgetter(0)))


def _first(calendar: Calendar, name: JobName) -> int:
    ends = ends_of(name.key)
    return calendar.read(ends[0]) if ends else 0


def _satisfied(supply: Supply) -> Iterator[PlanEntry]:
    for span in supply.satisfied:
        ends = _ends(supply.calendar, span)
        if supply.app:
            key = text_of(supply.app, span) if partitioning_of(supply.app).slice is not None else UNSET
            yield PlanEntry(app=supply.app.name, key=key, span=ends, why="it exists")
        else:
            yield PlanEntry(
                table=supply.table, span=ends, why="it exists" if supply.daily_jobs else "it has landed"
            )


def _to_come(supply: Supply) -> Iterator[PlanEntry]:
    """Yield the external partitions that have to land. Dependency groups name each of them separately, like
    ``events/2024-04-03``.
    """
    if supply.app is not None or supply.daily_jobs:
        return
    for span in united(step for step in supply.steps if step not in supply.or_later):
        yield _awaited(supply, span, span_text(supply.calendar, span), "has not landed")
    for span in sorted(supply.or_later):
        yield _awaited(supply, span, supply.name_of(span).key, "neither it nor a later one has landed")


def _awaited(supply: Supply, span: Span, key: str, why: str) -> PlanEntry:
    return PlanEntry(table=supply.table, key=key, span=_ends(supply.calendar, span), why=why)


def _ends(calendar: Calendar, span: Span) -> tuple[str, str]:
    return calendar.write(span.first), calendar.write(span.last)
