"""A preview in the words that programs rely on (the JSON of ``sluice plan``)."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from jobs.plan import PlannedJob, Standing
from jobs.ref import JobName
from jobs.states import LIVE, State
from planner.preview import Preview


def as_document(found: Preview, paces_s: Mapping[str, float]) -> dict[str, Any]:
    """``jobs`` would run, in this order; ``satisfied`` need not. References number the jobs of each app."""
    running = [job for job in found.jobs if found.is_new_work(job)]
    references = _references(running)
    satisfied = [job for job in found.jobs if not found.is_new_work(job) and _is_settled(found, job)]
    document: dict[str, Any] = {
        "jobs": [_job(job, found, references) for job in running],
        "satisfied": [_satisfied(job, found) for job in satisfied],
        "waits_for": [],
        "errors": [],
    }
    if paces_s:
        document["estimated_s"] = round(sum(paces_s.get(job.name.app, 0.0) for job in running), 3)
    return document


def _references(running: list[PlannedJob]) -> dict[JobName, str]:
    numbers: Counter[str] = Counter()
    references = {}
    for job in running:
        numbers[job.name.app] += 1
        references[job.name] = f"{job.name.app}#{numbers[job.name.app]}"
    return references


def _job(job: PlannedJob, found: Preview, references: Mapping[JobName, str]) -> dict[str, Any]:
    gates = [
        {
            "name": gate.name,
            "needs": [references[need.parent] for need in gate.needs if need.parent in references],
        }
        for gate in job.gates
    ]
    is_free = not gates or any(not gate["needs"] for gate in gates)
    known = found.states.get(job.name)
    state = known if known in LIVE - {State.EXPECTED} else (State.READY if is_free else State.WAITING)
    return {
        "ref": references[job.name],
        "app": job.name.app,
        "key": job.name.key,
        "kwargs": job.kwargs,
        "state": state,
        "gates": gates,
    }


def _is_settled(found: Preview, job: PlannedJob) -> bool:
    return found.states.get(job.name) is not None or job.standing is Standing.SKIPPED


def _satisfied(job: PlannedJob, found: Preview) -> dict[str, Any]:
    state = found.states.get(job.name)
    why = f"{state}: the ledger has it" if state else "skipped: it does not pass valid_if_or"
    return {"app": job.name.app, "key": job.name.key, "why": why}
