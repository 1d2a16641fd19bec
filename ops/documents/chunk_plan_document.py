"""JSON document of a plan for a submission about work IDs, in the format of ``ops.documents.plan_document``."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import UNSET
from msgspec.structs import replace

from sluice.jobs.keys.work_ids import ids_of
from sluice.jobs.model.freshness import Age, UnfinishedWork
from sluice.jobs.model.names import JobName
from sluice.ops.documents.plan_document import PlanDocument, PlanEntry, as_document, fresh_text, stale_text
from sluice.planner.keyspaces.chunks.chunk_plan import Chunked, Fresh
from sluice.planner.preview.forecast import Outlook
from sluice.planner.preview.preview import Preview


def as_chunk_document(
    found: Chunked, whole: Preview | None, paces_s: Mapping[str, float], *, now: datetime
) -> PlanDocument:
    """Return the jobs that would run, each with the reason why its results are not fresh. If the submission would stay
    unplanned, return the work that it waits for and no jobs. ``whole`` are the chunks together with the jobs with keys
    that they need, if they need any.
    """
    planned = () if found.waits_for else found.jobs
    whole = whole or Preview(jobs=planned, known={}, outlook=Outlook(planned, found.known))
    document = with_ages(as_document(whole, paces_s, now=now), found.ages, now)
    return replace(
        document,
        satisfied=[*document.satisfied, *(fresh_entry(fresh, now) for fresh in found.fresh)],
        waits_for=[*document.waits_for, *map(awaited_entry, found.waits_for)],
    )


def with_ages(document: PlanDocument, ages: Mapping[JobName, Age], now: datetime) -> PlanDocument:
    """Return the document with the reason why the results of these chunks are not fresh."""
    whys = {(job.app, job.key): _stale(age, now) for job, age in ages.items()}
    jobs = [replace(job, why=whys.get((job.app, job.key), job.why)) for job in document.jobs]
    return replace(document, jobs=jobs)


def nothing_to_do(app: str) -> PlanDocument:
    """Return the document of a submission that has no work IDs."""
    what = "it would be cancelled: there are no work IDs"
    return PlanDocument(jobs=[], satisfied=[], waits_for=[], errors=[PlanEntry(app=app, what=what)])


def fresh_entry(fresh: Fresh, now: datetime) -> PlanEntry:
    """Return the entry for a chunk that need not run."""
    what = "ran as a whole" if fresh.any_ids else "last ran"
    why = fresh_text(fresh.at, now, fresh.lag_s_max, what=what)
    return PlanEntry(app=fresh.app, work_ids=fresh.work_ids, why=why)


def _stale(age: Age, now: datetime) -> str:
    if age.missing:
        return f"stale: never ran on {age.missing} of its work IDs"
    return stale_text(age.oldest, now) if age.oldest else "stale"


def awaited_entry(busy: UnfinishedWork) -> PlanEntry:
    """Return the entry for work that must end before the submission is planned."""
    return PlanEntry(
        app=busy.app,
        what=busy.what,
        work_ids=UNSET if busy.parts is None else list(ids_of(busy.parts)),
        state=UNSET if busy.state is None else busy.state,
        why="the submission stays unplanned until it has ended",
    )
