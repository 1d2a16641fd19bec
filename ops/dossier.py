"""A job's dossier in the words that programs rely on (docs: the JSON of ``sluice show``)."""

from typing import Any

from jobs.work_ids import ids_of
from ledger.reads.dossier import Dossier, Round


def as_document(found: Dossier) -> dict[str, Any]:
    """Plain data for JSON; field names are a contract."""
    job = found.job
    return {
        "app": job.app,
        "key": job.key,
        "state": job.state,
        "round": job.round,
        "claim": job.claim,
        "fails": job.fails,
        "timeouts": job.timeouts,
        "losses": job.losses,
        "priority": job.priority,
        "not_before": job.not_before,
        "end_before": job.end_before,
        "handle": job.handle,
        "kwargs": job.kwargs or {},
        **({} if job.work_ids is None else {"work_ids": list(ids_of(job.work_ids))}),
        "submissions": found.submissions,
        "rounds": [round_document(each) for each in found.rounds],
        "history": [
            {
                "at": step.at,
                "from": None if step.source == "-" else step.source,
                "to": step.target,
                "by": step.by,
                "round": step.round,
                "note": step.note or step.verb,
            }
            for step in found.history
        ],
        "parents": list(dict.fromkeys((each.app, each.key, each.state) for each in found.parents)),
        "children": [[each.app, each.key, each.state] for each in found.children],
        "half_of": found.half_of and [found.half_of.app, found.half_of.key, found.half_of.state],
        "halves": [[each.app, each.key, each.state] for each in found.halves],
    }


def round_document(each: Round) -> dict[str, Any]:
    """One claim of the job. A round that was handed back has several."""
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
        "stderr": each.stderr,
        "error": each.error,
    }
