"""JSON document of a plan for a submission about work IDs, in the format of ``ops.documents.plan_document``."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sluice.jobs.keys.work_ids import ids_of
from sluice.jobs.model.freshness import Age, UnfinishedWork
from sluice.ops.documents import age_texts
from sluice.ops.documents.plan_document import as_document
from sluice.planner.keyspaces.chunks.chunk_plan import Chunked, Fresh
from sluice.planner.preview.forecast import Outlook
from sluice.planner.preview.preview import Preview


def as_chunk_document(found: Chunked, paces_s: Mapping[str, float], *, now: datetime) -> dict[str, Any]:
    """Return the jobs that would run, each with the reason why its results are not fresh. If the submission would stay
    unplanned, return the work that it waits for and no jobs.
    """
    planned = () if found.waits_for else found.jobs
    outlook = Outlook(planned, found.known)
    document = as_document(Preview(jobs=planned, known={}, outlook=outlook), paces_s, now=now)
    whys = {(job.app, job.key): _stale(age, now) for job, age in found.ages.items()}
    for told in document["jobs"]:
        if why := whys.get((told["app"], told["key"])):
            told["why"] = why
    document["satisfied"] += [_satisfied(fresh, now) for fresh in found.fresh]
    document["waits_for"] += [_awaited(busy) for busy in found.waits_for]
    return document


def nothing_to_do(app: str) -> dict[str, Any]:
    """Return the document of a submission that has no work IDs."""
    what = "it would be cancelled: there are no work IDs"
    return {"jobs": [], "satisfied": [], "waits_for": [], "errors": [{"app": app, "what": what}]}


def _satisfied(fresh: Fresh, now: datetime) -> dict[str, Any]:
    what = "ran as a whole" if fresh.any_ids else "last ran"
    why = age_texts.fresh(fresh.at, now, fresh.lag_s_max, what=what)
    return {"app": fresh.app, "work_ids": list(fresh.work_ids), "why": why}


def _stale(age: Age, now: datetime) -> str:
    if age.missing:
        return f"stale: never ran on {age.missing} of its work IDs"
    return age_texts.stale(age.oldest, now) if age.oldest else "stale"


def _awaited(busy: UnfinishedWork) -> dict[str, Any]:
    ids = {} if busy.parts is None else {"work_ids": list(ids_of(busy.parts))}
    state = {} if busy.state is None else {"state": busy.state}
    why = "the submission stays unplanned until it has ended"
    return {"app": busy.app, "what": busy.what, **ids, **state, "why": why}
