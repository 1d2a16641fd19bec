"""JSON document of a job (docs: the JSON of ``sluice show``)."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from msgspec import UNSET, UnsetType, json

from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.keys.partitions import span_text
from sluice.jobs.keys.work_ids import WorkId, ids_of
from sluice.jobs.model.history import Entry, Round, Transition, log_of, record_of
from sluice.jobs.model.pool import UNLIMITED
from sluice.jobs.model.submission import JSON
from sluice.jobs.states import State
from sluice.jobs.text.redaction import masked, masked_kwargs, masked_value
from sluice.ledger.job_graph.added_jobs import NamedJob
from sluice.ledger.reads.job_details import Child, Dossier, EntryCounts, Half, JobRow, Parent, Related
from sluice.ops.documents import Document, saga_document
from sluice.ops.documents.saga_document import FlightDocument
from sluice.ops.text import moment


class RoundAt(Document, frozen=True, kw_only=True):
    running: datetime
    executed: datetime | UnsetType = UNSET


class RoundDocument(Document, frozen=True, kw_only=True):
    """Claim of a job. A round that was handed back has several claims. ``output_bytes`` and ``stderr_bytes`` are the
    bytes of available output, even if ``output`` and ``stderr`` are omitted here.
    """

    round: int
    claim: int
    worker: str
    at: RoundAt
    ending: str | None
    took_s: float | None
    code: str | None
    digest: str | None
    exit_code: int | None
    output: str | None
    output_blob: str | None
    stderr: str | None
    stderr_blob: str | None
    output_bytes: int
    stderr_bytes: int
    error: str | None
    error_after_commit: str | None
    log: str | None


class StepDocument(Document, frozen=True, kw_only=True, rename={"source": "from", "target": "to"}):
    at: datetime
    source: str | None
    target: str
    by: str
    round: int
    note: str | None


class WatchDocument(Document, frozen=True, kw_only=True):
    """Monitoring of external work that no worker holds. ``to`` is ``poll`` for the next poll, or ``end`` for the next
    attempt to end the work. ``at`` is the time of either, and ``external_status`` the last status that a poll returned.
    """

    to: Literal["poll", "end"]
    every_s: float | None
    at: datetime | None
    external_status: str | None


class AddedDocument(Document, frozen=True, kw_only=True):
    """Jobs that a job has added while it ran. ``groups`` counts them by app and state. ``then`` are the jobs that
    follow them. ``is_planned`` is false between the success of the job and the plan of the added jobs.
    """

    groups: Mapping[str, Mapping[State, int]]
    then: Sequence[Related]
    is_planned: bool


class JobDocument(Document, frozen=True, kw_only=True):
    """Job. ``record`` and ``log`` are missing if the document does not have all rounds and the whole history.
    ``counts`` is the number of all rounds, transitions and submissions, of which the document may have only the last.

    ``result`` is the value that the function of a succeeded job returned. If it is too long for the ledger,
    ``result_blob`` names the blob with it. ``result_pending`` is the reason why the job has succeeded in a transaction
    and has no result: its function has not returned yet, or its worker died before.

    ``late_at`` is the time from which the job is late; null without ``due_within``. ``late`` is true if it was still
    not over then.

    ``added`` is null if the job has never added jobs. ``added_by`` are the jobs that have added this job.
    """

    app: str
    key: str
    state: State
    paused: bool
    pool: str | None
    pool_limit: int | None
    rate_bucket: str | None
    waiting_for_slot: bool
    round: int
    claim: int
    fails: int
    timeouts: int
    losses: int
    priority: int
    not_before: datetime | None
    end_before: datetime | None
    late_at: datetime | None
    late: bool
    uncollected: bool
    archived_at: datetime | None
    pruned_at: datetime | None
    result: JSON = None
    result_blob: str | None = None
    result_pending: str | None = None
    handle: JSON
    watch: WatchDocument | None
    kwargs: Mapping[str, JSON]
    work_ids: Sequence[WorkId] | UnsetType = UNSET
    span: tuple[str, str] | UnsetType = UNSET
    done: Sequence[str] | UnsetType = UNSET
    saga: FlightDocument | UnsetType = UNSET
    counts: EntryCounts
    submissions: Sequence[str]
    rounds: Sequence[RoundDocument]
    history: Sequence[StepDocument]
    record: Mapping[str, Any] | UnsetType = UNSET
    log: Sequence[str] | UnsetType = UNSET
    parents: Sequence[Related]
    children: Sequence[Related]
    bisected_from: Related | None
    compensated_by: Related | None
    compensates: Related | None
    halves: Sequence[Related]
    added: AddedDocument | None
    added_by: Sequence[Related]


def as_document(found: Dossier, calendar: Calendar | None, *, is_saga: bool) -> JobDocument:
    """Return the records of a job as a document. ``calendar``: of a partition job, if its definition is loaded."""
    job = found.job
    return JobDocument.of(
        job,
        paused=job.is_held_back,
        **_limits(job),
        uncollected=job.is_uncollected,
        result=result(found),
        result_blob=found.result_blob,
        result_pending=result_pending(found),
        handle=masked_value(job.handle),
        watch=_watch(job),
        kwargs=masked_kwargs(job.kwargs or {}),
        work_ids=UNSET if job.work_ids is None else list(ids_of(job.work_ids)),
        span=job.span or UNSET,
        done=done(found, calendar) if job.span and calendar else UNSET,
        saga=saga_document.as_document(found.flight, whole=False) if is_saga else UNSET,
        counts=found.counts,
        submissions=found.submissions,
        rounds=[round_document(each) for each in found.rounds],
        history=[_step(each) for each in found.history],
        record=_record(found) if found.is_told_whole else UNSET,
        log=log(found) if found.is_told_whole else UNSET,
        parents=_related(found.parents),
        children=_related(found.children),
        bisected_from=_related([found.bisected_from])[0] if found.bisected_from else None,
        halves=_related(found.halves),
        added=_added(found),
        added_by=_related(found.added_by),
    )


def _limits(job: JobRow) -> dict[str, JSON]:
    """Return the pool and the rate limit of the job. A pool without a limit is only where it waits for the latter."""
    has_slots = job.pool is not None and job.pool_limit != UNLIMITED
    return {
        "pool": masked(job.pool) if job.pool and has_slots else None,
        "pool_limit": job.pool_limit if has_slots else None,
        "rate_bucket": job.rate_bucket and masked(job.rate_bucket),
    }


def done(found: Dossier, calendar: Calendar) -> list[str]:
    """Return the existing partitions of a partition job, as the calendar of its app writes them."""
    return [span_text(calendar, span) for span in found.done]


def result(found: Dossier) -> JSON:
    """Return the result of the job, if it is in the ledger. Passwords in URLs are masked."""
    if found.result is None or found.result.result is None:
        return None
    return masked_value(json.decode(found.result.result))


def result_pending(found: Dossier) -> str | None:
    """Return why the job has no result, if it has succeeded in a transaction of its run."""
    return found.result.pending if found.result else None


def log(found: Dossier) -> tuple[str, ...]:
    """Return the state changes of the job as lines of text."""
    return log_of(found.job.name, found.history, found.rounds, archived_at=found.job.archived_at)


def round_document(each: Round) -> RoundDocument:
    """Return one claim of the job. A round that was handed back has several."""
    return RoundDocument.of(each, at=RoundAt(running=each.running_at, executed=each.executed_at or UNSET))


def _record(found: Dossier) -> dict[str, Entry]:
    return dict(record_of(found.history, found.rounds, archived_at=found.job.archived_at))


def _added(found: Dossier) -> AddedDocument | None:
    if found.added is None:
        return None
    return AddedDocument(
        groups={group.app: group.states for group in found.added.groups},
        then=_related(found.added.then),
        is_planned=found.added.is_planned,
    )


def _related(jobs: Iterable[Parent | Child | Half | NamedJob]) -> list[Related]:
    """Return each job once. A job may be a parent by several dependency groups."""
    return list(dict.fromkeys(Related(each.app, each.key, each.state) for each in jobs))


def _step(each: Transition) -> StepDocument:
    source = None if each.source == "-" else each.source
    return StepDocument.of(each, source=source, note=each.note or each.verb)


def _watch(job: JobRow) -> WatchDocument | None:
    """Return how external work without a worker is polled or ended, and when. None if the job has no such work."""
    if not job.is_left and not job.is_to_be_ended:
        return None
    return WatchDocument(
        to="poll" if job.is_left else "end",
        every_s=job.poll_interval_s if job.is_left else None,
        at=job.next_poll_at,
        external_status=job.external_status,
    )


def removed(job: JobRow) -> str:
    """Return which part of the history was removed, and when. Empty if nothing was removed."""
    if job.pruned_at is None:
        return ""
    until = "its history" if job.is_pruned else "its earlier history"
    return f"{until} was removed at {moment(job.pruned_at)} UTC, because of its age"
