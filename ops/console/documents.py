"""Types of the JSON documents of commands. The OpenAPI description uses them for the calls that return them.

The documents are built elsewhere, as plain data (``ops.documents.job_document``, ``ops.documents.saga_document``,
``ops.documents.app_document``, ``ops.documents.worker_document``). Each type has all fields of its document: a test
reads real documents with it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from sluice.jobs.model.submission import JSON
from sluice.jobs.sagas.journal import Direction, EntryResult
from sluice.jobs.states import State

#: Job as its app, its key and its state.
Related = tuple[str, str, State]
Words = Mapping[str, JSON]


class Document(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Document with these fields and no others."""


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


class MeterDocument(Document, frozen=True, kw_only=True):
    name: str
    done: int
    total: int | None
    at: datetime


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
    flight: int
    saga_open: bool
    direction: Literal["do", "undo"]
    step: int | None
    steps: int | None
    name: str | None
    result: EntryResult | None
    waits_for: WaitDocument | None
    working: Words
    meters: Sequence[MeterDocument]
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


class CountsDocument(Document, frozen=True, kw_only=True):
    """Number of all rounds, transitions and submissions. The document has only the last of each."""

    rounds: int
    history: int
    submissions: int


class JobDocument(Document, frozen=True, kw_only=True):
    """Job. ``record`` and ``log`` are missing if the document does not have all rounds and the whole history."""

    app: str
    key: str
    state: State
    paused: bool
    pool: str | None
    pool_limit: int | None
    waiting_for_slot: bool
    round: int
    claim: int
    fails: int
    timeouts: int
    losses: int
    priority: int
    not_before: datetime | None
    end_before: datetime | None
    uncollected: bool
    archived_at: datetime | None
    pruned_at: datetime | None
    handle: JSON
    watch: WatchDocument | None
    kwargs: Words
    work_ids: Sequence[int | str] | UnsetType = UNSET
    span: tuple[str, str] | UnsetType = UNSET
    done: Sequence[str] | UnsetType = UNSET
    saga: FlightDocument | UnsetType = UNSET
    counts: CountsDocument
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


class ParentAlternative(Document, frozen=True, kw_only=True):
    group: str
    apps: Sequence[str]


class SagaOf(Document, frozen=True, kw_only=True):
    context: str | None
    hooks: Sequence[str]


class AppDocument(Document, frozen=True, kw_only=True):
    """App as it is defined. ``chunks``, ``partitions``, ``policy`` and ``program`` have the options of the
    definitions.
    """

    app: str
    job_type: str
    job_id: str | None
    identifiers: Mapping[str, str]
    autofill_values: Mapping[str, Sequence[Any]]
    chunks: Words | None
    partitions: Words | None
    parents: Sequence[ParentAlternative]
    children: Sequence[str]
    policy: Words
    breaker: Words | None
    retry_budget: Words | None
    runs: str | None
    program: Mapping[str, str] | None
    saga: SagaOf | None
    origin: str
    digest: str
    version: str | None


class CountedApp(AppDocument, frozen=True, kw_only=True):
    """App as it is defined. ``counts`` is the number of its jobs in each state."""

    counts: Mapping[State, int]


class AllApps(Document, frozen=True, kw_only=True):
    apps: Sequence[AppDocument]


class SlotDocument(Document, frozen=True, kw_only=True):
    app: str
    key: str
    state: State
    since: datetime
    worker: str | None


class PoolDocument(Document, frozen=True, kw_only=True):
    pool: str
    pool_limit: int
    pool_limit_min: int
    waiting_for_slot: int
    taken: int
    slots: Sequence[SlotDocument]


class WorkerDocument(Document, frozen=True, kw_only=True):
    id: str
    host: str
    pid: int
    queues: Sequence[str]
    threads: int
    code: str | None
    started_at: datetime
    lease_until: datetime
    alive: bool
    running: int
    definitions: str | None
    definitions_at: datetime | None
    definitions_problem: str | None
    pools: Sequence[PoolDocument]
