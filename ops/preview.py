"""A preview in the words that programs rely on (the JSON of ``sluice plan``)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from jobs.gate import Gate, Need
from jobs.plan import PlannedJob
from jobs.ref import JobName
from jobs.states import State
from planner.outlook import Fate
from planner.preview import Preview


def as_document(found: Preview, paces_s: Mapping[str, float], *, now: datetime) -> dict[str, Any]:
    """``jobs`` would run, in this order; ``satisfied`` need not; ``waits_for`` will, whoever asks; for ``errors``
    there is no way."""
    telling = _Telling(found, now)
    new = telling.with_fate(Fate.NEW)
    document: dict[str, Any] = {
        "jobs": [telling.planned(job) for job in new],
        "satisfied": [telling.told(job, "why") for job in telling.with_fate(Fate.SETTLED)],
        "waits_for": [telling.awaited(job) for job in telling.with_fate(Fate.UNDER_WAY)],
        "errors": [telling.told(job, "what") for job in telling.with_fate(Fate.LOST)],
    }
    if new and all(job.name.app in paces_s for job in new):
        document["estimated_s"] = round(sum(paces_s[job.name.app] for job in new), 3)
    return document


class _Telling:
    """Jobs in the document's words."""

    def __init__(self, found: Preview, now: datetime) -> None:
        self._found = found
        self._outlook = found.outlook
        self._now = now
        self._references = _references(self.with_fate(Fate.NEW, Fate.UNDER_WAY))

    def with_fate(self, *fates: Fate) -> list[PlannedJob]:
        return [job for job in self._found.jobs if self._outlook[job.name].fate in fates]

    def planned(self, job: PlannedJob) -> dict[str, Any]:
        """A job that would run, and what it would wait for."""
        return {
            "ref": self._references[job.name],
            "app": job.name.app,
            "key": job.name.key,
            "kwargs": job.kwargs,
            "state": State.READY if self._may_run(job) else State.WAITING,
            "gates": [self._gate(gate) for gate in job.gates],
        }

    def awaited(self, job: PlannedJob) -> dict[str, Any]:
        """A job that is under way. Others may wait for it, so it has a reference too."""
        reference, state = self._references[job.name], self._found.states[job.name]
        return {"ref": reference, **self.told(job, "why"), "state": state}

    def told(self, job: PlannedJob, word: str) -> dict[str, Any]:
        return {"app": job.name.app, "key": job.name.key, word: self._outlook[job.name].why}

    def _gate(self, gate: Gate) -> dict[str, Any]:
        """``when`` has those that need not succeed but come to something else."""
        told = {self._reference(need): need.when for need in gate.needs if self._outlook.is_open(need)}
        unusual = {reference: when for reference, when in told.items() if when != "succeeded"}
        return {"name": gate.name, "needs": [*told]} | ({"when": unusual} if unusual else {})

    def _reference(self, need: Need) -> str:
        """By name what nobody would ask for."""
        return self._references.get(need.parent, str(need.parent))

    def _may_run(self, job: PlannedJob) -> bool:
        is_due = job.policy.start_after is None or job.policy.start_after <= self._now
        return is_due and (
            not job.gates or not all(any(map(self._outlook.is_open, gate.needs)) for gate in job.gates)
        )


def _references(jobs: Iterable[PlannedJob]) -> dict[JobName, str]:
    """``B#2`` is the second job of B in the plan."""
    numbers: Counter[str] = Counter()
    references = {}
    for job in jobs:
        numbers[job.name.app] += 1
        references[job.name] = f"{job.name.app}#{numbers[job.name.app]}"
    return references
