"""JSON document of a plan (the JSON of ``sluice plan``)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from sluice.jobs.keys.work_ids import WorkId
from sluice.jobs.model.dependency import Gate
from sluice.jobs.model.freshness import is_fresh
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import PlannedJob
from sluice.jobs.model.submission import JSON
from sluice.jobs.states import State
from sluice.jobs.text.redaction import masked, masked_kwargs
from sluice.ops.documents import Document
from sluice.ops.text import span
from sluice.planner.preview.critical_path import critical_path
from sluice.planner.preview.forecast import Forecast
from sluice.planner.preview.preview import Preview


class GateDocument(Document, frozen=True, kw_only=True):
    """Dependency group. ``when`` has only the parents with a condition other than ``succeeded``."""

    name: str
    needs: Sequence[str]
    when: Mapping[str, str] | UnsetType = UNSET


class PlannedDocument(Document, frozen=True, kw_only=True):
    """Job that would run, with the jobs that it would wait for. ``pool_limit`` is the number of jobs of its pool that
    may run at once. ``pushed``: no submission requests it; it is a child of a job that would run.
    """

    ref: str
    app: str
    key: str
    work_ids: Sequence[WorkId] | UnsetType = UNSET
    kwargs: Mapping[str, JSON]
    state: State
    gates: Sequence[GateDocument]
    why: str | UnsetType = UNSET
    pool: str | UnsetType = UNSET
    pool_limit: int | UnsetType = UNSET
    pushed: bool | UnsetType = UNSET
    span: tuple[str, str] | UnsetType = UNSET


class PlanEntry(Document, frozen=True, kw_only=True):
    """Work that the plan does not start. It has an app, or the ``table`` of external partitions."""

    ref: str | UnsetType = UNSET
    app: str | UnsetType = UNSET
    table: str | UnsetType = UNSET
    key: str | UnsetType = UNSET
    what: str | UnsetType = UNSET
    work_ids: Sequence[WorkId] | UnsetType = UNSET
    span: tuple[str, str] | UnsetType = UNSET
    why: str | UnsetType = UNSET
    state: State | UnsetType = UNSET


class PathDocument(Document, frozen=True, kw_only=True):
    """Longest chain of jobs: by expected run time, or by number of jobs if a run time is unknown."""

    jobs: Sequence[str]
    estimated_s: float | UnsetType = UNSET


class PlanDocument(Document, frozen=True, kw_only=True):
    """Plan. ``jobs`` would run, in this order. ``satisfied`` jobs need not run. ``waits_for`` jobs are requested
    already and run in any case. ``errors`` are jobs that cannot run.

    ``pushed`` are the children that would run too, if all these jobs succeed. ``held`` children would be planned, and
    wait for a parent that no submission has requested.

    ``estimated_s`` is the sum of the expected run times of ``jobs`` and ``pushed``, if the run times of all apps are
    known. ``widest_level`` is the number of jobs that start together if all jobs take equally long.
    """

    jobs: Sequence[PlannedDocument]
    satisfied: Sequence[PlanEntry]
    waits_for: Sequence[PlanEntry]
    errors: Sequence[PlanEntry]
    pushed: Sequence[PlannedDocument] | UnsetType = UNSET
    held: Sequence[PlanEntry] | UnsetType = UNSET
    critical_path: PathDocument | UnsetType = UNSET
    widest_level: int | UnsetType = UNSET
    estimated_s: float | UnsetType = UNSET


def as_document(found: Preview, paces_s: Mapping[str, float], *, now: datetime) -> PlanDocument:
    telling = _Telling(found, now)
    new = telling.with_fate(Forecast.NEW)
    document = _document(telling, new, found)
    if not new:
        return document
    is_timed = all(job.name.app in paces_s for job in new)
    path = critical_path(found, paces_s if is_timed else None)
    return replace(
        document,
        critical_path=PathDocument(
            jobs=[telling.reference(name) for name in path.jobs],
            estimated_s=round(path.length, 3) if is_timed else UNSET,
        ),
        widest_level=path.widest_level,
        estimated_s=round(sum(paces_s[job.name.app] for job in new), 3) if is_timed else UNSET,
    )


def _document(telling: "_Telling", new: Sequence[PlannedJob], found: Preview) -> PlanDocument:
    return PlanDocument(
        jobs=[telling.planned(job) for job in new if job.name not in found.pushed],
        satisfied=[telling.satisfied(job) for job in telling.with_fate(Forecast.SETTLED)],
        waits_for=[telling.awaited(job) for job in telling.with_fate(Forecast.UNDER_WAY)],
        errors=[telling.lost(job) for job in telling.with_fate(Forecast.LOST)],
        pushed=[telling.planned(job) for job in new if job.name in found.pushed] or UNSET,
        held=[telling.held(*each) for each in found.held] or UNSET,
    )


class _Telling:
    """Builder of the document's entries about jobs."""

    def __init__(self, found: Preview, now: datetime) -> None:
        self._found = found
        self._outlook = found.outlook
        self._now = now
        self._references = _references(self.with_fate(Forecast.NEW, Forecast.UNDER_WAY))
        self._lags_s = _lags_s(self.with_fate(Forecast.NEW))

    def with_fate(self, *fates: Forecast) -> list[PlannedJob]:
        return [job for job in self._found.jobs if self._outlook[job.name].fate in fates]

    def reference(self, name: JobName) -> str:
        """Return the reference of a job, or its name if it has no reference."""
        return self._references.get(name, str(name))

    def planned(self, job: PlannedJob) -> PlannedDocument:
        limits = job.policy.concurrency
        return PlannedDocument(
            ref=self._references[job.name],
            app=job.name.app,
            key=job.name.key,
            work_ids=UNSET if job.work_ids is None else job.work_ids,
            kwargs=masked_kwargs(job.kwargs),
            state=State.READY if self._may_run(job) else State.WAITING,
            gates=[self._gate(job, gate) for gate in job.gates],
            why=self._stale(job) if job.name in self._found.stale else UNSET,
            pool=masked(job.pool) if job.pool and limits else UNSET,
            pool_limit=limits.limit if job.pool and limits else UNSET,
            pushed=job.name in self._found.pushed or UNSET,
        )

    def satisfied(self, job: PlannedJob) -> PlanEntry:
        """Return a job that need not run. If a job that would run limits its age (``max_lag``), the entry has its
        age.
        """
        why = self._outlook[job.name].why
        known = self._found.known.get(job.name)
        if job.name in self._lags_s and known and known.since and known.state is State.SUCCEEDED:
            lag_s = self._lags_s[job.name]
            is_used = is_fresh(known.since, lag_s, self._now)
            why = (
                fresh_text(known.since, self._now, lag_s)
                if is_used
                else f"{stale_text(known.since, self._now)}, but it is not requested"
            )
        return PlanEntry(app=job.name.app, key=job.name.key, why=why)

    def awaited(self, job: PlannedJob) -> PlanEntry:
        """Return a job that is under way. It has a reference, because new jobs may wait for it."""
        name = job.name
        return PlanEntry(
            ref=self._references[name],
            app=name.app,
            key=name.key,
            why=self._outlook[name].why,
            state=self._found.known[name].state,
        )

    def lost(self, job: PlannedJob) -> PlanEntry:
        return PlanEntry(app=job.name.app, key=job.name.key, what=self._outlook[job.name].why)

    def held(self, name: JobName, parent: JobName) -> PlanEntry:
        return PlanEntry(app=name.app, key=name.key, why=f"it waits for {parent}, which is not requested")

    def _stale(self, job: PlannedJob) -> str:
        since = self._found.known[job.name].since
        return stale_text(since, self._now) if since else "stale: it always runs"

    def _gate(self, job: PlannedJob, gate: Gate) -> GateDocument:
        told = {
            self.reference(need.parent): need.when for need in gate.needs if self._outlook.is_open(job, need)
        }
        unusual = {reference: when for reference, when in told.items() if when != "succeeded"}
        return GateDocument(name=gate.name, needs=[*told], when=unusual or UNSET)

    def _may_run(self, job: PlannedJob) -> bool:
        policy = job.policy
        longest = timedelta(seconds=policy.random_start_offset_s + policy.start_delay_s)
        is_due = (policy.start_at or self._now) <= self._now - longest
        is_open = partial(self._outlook.is_open, job)
        return is_due and (not job.gates or not all(any(map(is_open, gate.needs)) for gate in job.gates))


def _lags_s(jobs: Iterable[PlannedJob]) -> dict[JobName, float]:
    """Return the maximum age of each parent in seconds, if any of these jobs limits it. The strictest limit counts."""
    lags_s: dict[JobName, float] = {}
    for need in (need for job in jobs for gate in job.gates for need in gate.needs):
        if need.lag_s_max is not None:
            lags_s[need.parent] = min(need.lag_s_max, lags_s.get(need.parent, need.lag_s_max))
    return lags_s


def _references(jobs: Iterable[PlannedJob]) -> dict[JobName, str]:
    """Number the jobs of each app. ``B#2`` is the second job of B in the plan."""
    numbers: Counter[str] = Counter()
    references = {}
    for job in jobs:
        numbers[job.name.app] += 1
        references[job.name] = f"{job.name.app}#{numbers[job.name.app]}"
    return references


def fresh_text(at: datetime, now: datetime, lag_s_max: float, *, what: str = "last ran") -> str:
    """Return why a job need not run, as text."""
    return f"fresh: {what} {_ago(at, now)}, max_lag {span(lag_s_max)}"


def stale_text(at: datetime, now: datetime) -> str:
    """Return why a job would run although it has succeeded, as text."""
    return f"stale: last ran {_ago(at, now)}"


def _ago(at: datetime, now: datetime) -> str:
    return f"{span((now - at).total_seconds())} ago"
