"""JSON document of a saga's flight: ``saga`` in the JSON of ``sluice show`` and ``sluice saga show``."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict

from sluice.jobs.sagas.journal import Failure
from sluice.jobs.text.redaction import masked_kwargs, masked_value
from sluice.ledger.reads.job_details import Dossier
from sluice.ledger.reads.saga_details import FlightRecord, JournalLine, SentEvent


def as_document(flight: FlightRecord, *, whole: bool) -> Mapping[str, Any]:
    """Return the flight as plain data for JSON. The field names are a public contract. ``step``, ``name`` and
    ``result`` belong to the last journal entry. ``direction`` is the direction in which the flight goes on. With
    ``whole``, failures include their tracebacks.
    """
    last = flight.last
    return {
        "flight": flight.number,
        "saga_open": flight.saga_open,
        "direction": "undo" if flight.undoing else "do",
        "step": last and last.step,
        "steps": last and last.steps,
        "name": last and last.name,
        "result": last and last.result,
        "waits_for": _wait(flight),
        "working": masked_kwargs(flight.working),
        "meters": [asdict(each) for each in flight.meters],
        "abort_reason": flight.abort_reason,
        "crashes": flight.crashes,
        "failure": _failure(flight.failure, whole=whole),
        "trouble": _failure(flight.failed_undo.failure, whole=whole) if flight.failed_undo else None,
        "events": [_said(each) for each in flight.events],
        "journal": [_entry(each, whole=whole) for each in flight.lines],
        "earlier": [
            asdict(each) | {"failure": _failure(each.failure, whole=whole)} for each in flight.earlier
        ],
    }


def whole_document(found: Dossier) -> dict[str, Any]:
    """Return a saga with all details (docs: the JSON of ``sluice saga show``)."""
    job = found.job
    return {
        "app": job.app,
        "key": job.key,
        "state": job.state,
        **({"pruned_at": job.pruned_at} if job.pruned_at else {}),
        "saga": as_document(found.flight, whole=True),
    }


def _wait(flight: FlightRecord) -> Mapping[str, Any] | None:
    if flight.wait is None or flight.wait.awaits is None:
        return None
    return {
        "event": flight.wait.awaits.event,
        "since": flight.wait.at,
        "until": flight.until,
        "otherwise": flight.wait.awaits.otherwise,
    }


def _said(each: SentEvent) -> Mapping[str, Any]:
    return {
        "id": each.id,
        "name": each.name,
        "payload": masked_value(each.payload),
        "by": each.by,
        "at": each.at,
        "taken_by": each.taken_by,
    }


def _entry(each: JournalLine, *, whole: bool) -> Mapping[str, Any]:
    return {
        "seq": each.seq,
        "at": each.at,
        "claim": each.claim,
        "step": each.step,
        "name": each.name,
        "direction": each.direction,
        "result": each.result,
        "awaits": each.awaits.event if each.awaits else None,
        "event": each.event,
        "failure": _failure(each.failure, whole=whole),
        "note": each.note,
    }


def _failure(failure: Failure | None, *, whole: bool) -> Mapping[str, str] | None:
    if failure is None:
        return None
    told = {"step": failure.step, "type": failure.type, "message": failure.message}
    return told | ({"traceback": failure.traceback} if whole else {})
