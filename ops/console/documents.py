"""Types of the JSON documents of commands. The OpenAPI description uses them for the calls that return them.

The documents are built elsewhere, as plain data (``ops.documents.app_document``, ``ops.documents.worker_document``).
Each type has all fields of its document: a test reads real documents with it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sluice.jobs.model.submission import JSON
from sluice.jobs.states import State
from sluice.ops.documents import Document

Words = Mapping[str, JSON]


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
