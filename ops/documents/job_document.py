"""JSON document of a job (docs: the JSON of ``sluice show``)."""

from typing import Any

from msgspec.structs import asdict

from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.keys.partitions import span_text
from sluice.jobs.keys.work_ids import ids_of
from sluice.jobs.model.history import Round, Transition, log_of, record_of
from sluice.jobs.text.redaction import masked, masked_kwargs, masked_value
from sluice.ledger.reads.job_details import Child, Dossier, Half, JobRow
from sluice.ops.documents import saga_document


def as_document(found: Dossier, calendar: Calendar | None, *, is_saga: bool) -> dict[str, Any]:
    """Return the records of a job as plain data for JSON, a public contract. ``record`` and ``log`` need the whole
    history. ``calendar``: of a partition job, if its definition is loaded."""
    job = found.job
    return {
        "app": job.app,
        "key": job.key,
        "state": job.state,
        "paused": job.is_held_back,
        "pool": job.pool and masked(job.pool),
        "pool_limit": job.pool_limit,
        "waiting_for_slot": job.waiting_for_slot,
        "round": job.round,
        "claim": job.claim,
        "fails": job.fails,
        "timeouts": job.timeouts,
        "losses": job.losses,
        "priority": job.priority,
        "not_before": job.not_before,
        "end_before": job.end_before,
        "uncollected": job.is_uncollected,
        "archived_at": job.archived_at,
        "pruned_at": job.pruned_at,
        "handle": masked_value(job.handle),
        "watch": _watch(job),
        "kwargs": masked_kwargs(job.kwargs or {}),
        **({} if job.work_ids is None else {"work_ids": list(ids_of(job.work_ids))}),
        **({} if job.span is None else {"span": job.span}),
        **({} if job.span is None or calendar is None else {"done": done(found, calendar)}),
        **({"saga": saga_document.as_document(found.flight, whole=False)} if is_saga else {}),
        "counts": asdict(found.counts),
        "submissions": found.submissions,
        "rounds": [round_document(each) for each in found.rounds],
        "history": [_step(each) for each in found.history],
        **(_record(found) if found.is_told_whole else {}),
        "parents": list(dict.fromkeys((each.app, each.key, each.state) for each in found.parents)),
        "children": [_state_of(each) for each in found.children],
        "bisected_from": found.bisected_from and _state_of(found.bisected_from),
        "compensated_by": job.compensated_by and [*job.compensated_by],
        "compensates": job.compensates and [*job.compensates],
        "halves": [_state_of(each) for each in found.halves],
    }


def _state_of(each: Child | Half) -> list[str]:
    return [each.app, each.key, each.state]


def done(found: Dossier, calendar: Calendar) -> list[str]:
    """Return the existing partitions of a partition job, as the calendar of its app writes them."""
    return [span_text(calendar, span) for span in found.done]


def round_document(each: Round) -> dict[str, Any]:
    """Return one claim of the job. A round that was handed back has several."""
    at = {"running": each.running_at} | ({"executed": each.executed_at} if each.executed_at else {})
    return {
        "round": each.round,
        "claim": each.claim,
        "worker": each.worker,
        "at": at,
        "ending": each.ending,
        "took_s": each.took_s,
        "code": each.code,
        "digest": each.digest,
        "exit_code": each.exit_code,
        "output": each.output,
        "output_blob": each.output_blob,
        "stderr": each.stderr,
        "stderr_blob": each.stderr_blob,
        "output_bytes": each.output_bytes,
        "stderr_bytes": each.stderr_bytes,
        "error": each.error,
        "error_after_commit": each.error_after_commit,
        "log": each.log,
    }


def _record(found: Dossier) -> dict[str, Any]:
    job = found.job
    return {
        "record": dict(record_of(found.history, found.rounds, archived_at=job.archived_at)),
        "log": log_of(job.name, found.history, found.rounds, archived_at=job.archived_at),
    }


def _step(each: Transition) -> dict[str, Any]:
    return {
        "at": each.at,
        "from": None if each.source == "-" else each.source,
        "to": each.target,
        "by": each.by,
        "round": each.round,
        "note": each.note or each.verb,
    }


def _watch(job: JobRow) -> dict[str, Any] | None:
    """Return how external work without a worker is polled or ended, and when. None if the job has no such work."""
    if not job.is_left and not job.is_to_be_ended:
        return None
    return {
        "to": "poll" if job.is_left else "end",
        "every_s": job.poll_interval_s if job.is_left else None,
        "at": job.next_poll_at,
        "external_status": job.external_status,
    }
