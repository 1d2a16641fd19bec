"""JSON document of a saga's flight: ``saga`` in the JSON of ``sluice show`` and ``sluice saga show``."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from msgspec import UNSET, UnsetType

from sluice.jobs.model.submission import JSON
from sluice.jobs.sagas.journal import Direction, EntryResult, Failure
from sluice.jobs.states import State
from sluice.jobs.text.redaction import masked_kwargs, masked_value
from sluice.ledger.reads.job_details import Dossier
from sluice.ledger.reads.saga_details import FlightRecord, JournalLine, StepProgress
from sluice.ops.documents import Document


class FailureDocument(Document, frozen=True, kw_only=True):
    step: str
    type: str
    message: str
    traceback: str | UnsetType = UNSET


class WaitDocument(Document, frozen=True, kw_only=True):
    event: str | None
    since: datetime
    until: datetime | None
    otherwise: Literal["undo", "go_on"]


class EventDocument(Document, frozen=True, kw_only=True):
    id: int
    name: str | None
    payload: JSON
    by: str | None
    at: datetime
    taken_by: int | None


class EntryDocument(Document, frozen=True, kw_only=True):
    seq: int
    at: datetime
    claim: int
    step: int
    name: str
    direction: Direction
    result: EntryResult
    awaits: str | None
    event: int | None
    failure: FailureDocument | None
    note: str | None


class EarlierDocument(Document, frozen=True, kw_only=True):
    number: int
    entries: int
    began_at: datetime
    ended_at: datetime
    failure: FailureDocument | None


class FlightDocument(Document, frozen=True, kw_only=True):
    """Flight of a saga. ``step``, ``name`` and ``result`` belong to the last journal entry. ``direction`` is the
    direction in which the flight goes on.
    """

    flight: int
    saga_open: bool
    direction: Literal["do", "undo"]
    step: int | None
    steps: int | None
    name: str | None
    result: EntryResult | None
    waits_for: WaitDocument | None
    working: Mapping[str, JSON]
    meters: Sequence[StepProgress]
    abort_reason: str | None
    crashes: int
    failure: FailureDocument | None
    trouble: FailureDocument | None
    events: Sequence[EventDocument]
    journal: Sequence[EntryDocument]
    earlier: Sequence[EarlierDocument]


class SagaDocument(Document, frozen=True, kw_only=True):
    app: str
    key: str
    state: State
    pruned_at: datetime | UnsetType = UNSET
    saga: FlightDocument


def as_document(flight: FlightRecord, *, whole: bool) -> FlightDocument:
    """Return the flight as a document. With ``whole``, failures include their tracebacks."""
    last = flight.last
    return FlightDocument(
        flight=flight.number,
        saga_open=flight.saga_open,
        direction="undo" if flight.undoing else "do",
        step=last.step if last else None,
        steps=last.steps if last else None,
        name=last.name if last else None,
        result=last.result if last else None,
        waits_for=_wait(flight),
        working=masked_kwargs(flight.working),
        meters=flight.meters,
        abort_reason=flight.abort_reason,
        crashes=flight.crashes,
        failure=_failure(flight.failure, whole=whole),
        trouble=_failure(flight.failed_undo.failure, whole=whole) if flight.failed_undo else None,
        events=[EventDocument.of(each, payload=masked_value(each.payload)) for each in flight.events],
        journal=[_entry(each, whole=whole) for each in flight.lines],
        earlier=[
            EarlierDocument.of(each, failure=_failure(each.failure, whole=whole)) for each in flight.earlier
        ],
    )


def whole_document(found: Dossier) -> SagaDocument:
    """Return a saga with all details (docs: the JSON of ``sluice saga show``)."""
    job = found.job
    return SagaDocument.of(job, pruned_at=job.pruned_at or UNSET, saga=as_document(found.flight, whole=True))


def _wait(flight: FlightRecord) -> WaitDocument | None:
    if flight.wait is None or flight.wait.awaits is None:
        return None
    return WaitDocument(
        event=flight.wait.awaits.event,
        since=flight.wait.at,
        until=flight.until,
        otherwise=flight.wait.awaits.otherwise,
    )


def _entry(each: JournalLine, *, whole: bool) -> EntryDocument:
    awaits = each.awaits.event if each.awaits else None
    return EntryDocument.of(each, awaits=awaits, failure=_failure(each.failure, whole=whole))


def _failure(failure: Failure | None, *, whole: bool) -> FailureDocument | None:
    if failure is None:
        return None
    return FailureDocument.of(failure, traceback=failure.traceback if whole else UNSET)
