"""A preview in the words that programs rely on (the JSON of ``sluice plan``)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from jobs.gate import DEAD_FOR, MET, Gate, Need
from jobs.plan import PlannedJob, Standing
from jobs.ref import JobName
from jobs.states import LIVE, TERMINAL, State
from planner.preview import Preview


class Fate(StrEnum):
    """What would become of a job: it need not run, somebody has asked for it already, it would run, it cannot;
    or it is only named, as a parent in an alternative that was not chosen."""

    SETTLED = "settled"
    UNDER_WAY = "under way"
    NEW = "new"
    LOST = "lost"
    NAMED = "named"


class Prospect(NamedTuple):
    """``state`` is the one that it has and keeps, or comes to without running; None where it would run."""

    fate: Fate
    state: State | None = None
    why: str = ""


def as_document(
    found: Preview, paces_s: Mapping[str, float], *, again: bool, now: datetime
) -> dict[str, Any]:
    """``jobs`` would run, in this order; ``satisfied`` need not; ``waits_for`` will, whoever asks; for ``errors``
    there is no way. ``again``: what was asked for by name is to run though it has ended."""
    outlook = Outlook(found, again=again, now=now)
    new = outlook.with_fate(Fate.NEW)
    document: dict[str, Any] = {
        "jobs": [outlook.planned(job) for job in new],
        "satisfied": [outlook.told(job, "why") for job in outlook.with_fate(Fate.SETTLED)],
        "waits_for": [outlook.awaited(job) for job in outlook.with_fate(Fate.UNDER_WAY)],
        "errors": [outlook.told(job, "what") for job in outlook.with_fate(Fate.LOST)],
    }
    if new and all(job.name.app in paces_s for job in new):
        document["estimated_s"] = round(sum(paces_s[job.name.app] for job in new), 3)
    return document


class Outlook:
    """The prospect of each job of a preview. They come parents first, so what one needs is known before it."""

    def __init__(self, found: Preview, *, again: bool, now: datetime) -> None:
        self._found = found
        self._again = again
        self._now = now
        self._prospects: dict[JobName, Prospect] = {}
        for job in found.jobs:
            self._prospects[job.name] = self._judge(job)
        self._references = _references(self.with_fate(Fate.NEW, Fate.UNDER_WAY))

    def with_fate(self, *fates: Fate) -> list[PlannedJob]:
        return [job for job in self._found.jobs if self._prospects[job.name].fate in fates]

    def planned(self, job: PlannedJob) -> dict[str, Any]:
        """A job that would run, and what it would wait for."""
        return {
            "ref": self._references[job.name],
            "app": job.name.app,
            "key": job.name.key,
            "kwargs": job.kwargs,
            "state": State.READY if self._may_run(job) else State.WAITING,
            "gates": [{"name": gate.name, "needs": self._open_needs(gate)} for gate in job.gates],
        }

    def awaited(self, job: PlannedJob) -> dict[str, Any]:
        """A job that is under way. Others may wait for it, so it has a reference too."""
        reference, state = self._references[job.name], self._found.states[job.name]
        return {"ref": reference, **self.told(job, "why"), "state": state}

    def told(self, job: PlannedJob, word: str) -> dict[str, Any]:
        return {"app": job.name.app, "key": job.name.key, word: self._prospects[job.name].why}

    def _judge(self, job: PlannedJob) -> Prospect:
        """The walk wants a job that has ended only where it was asked for by name."""
        state = self._found.states.get(job.name)
        if job.standing is Standing.SKIPPED:
            why = f"{State.SKIPPED}: it does not pass valid_if_or"
            return Prospect(Fate.SETTLED, State.SKIPPED, why)
        if job.standing is Standing.EXPECTED:
            return _standing(state)
        if state in LIVE - {State.EXPECTED}:
            return Prospect(Fate.UNDER_WAY, state, f"{state}: somebody has asked for it already")
        if state in TERMINAL - {State.CANCELLED} and not self._again:
            return _standing(state, asked_for=True)
        return self._possible(job)

    def _possible(self, job: PlannedJob) -> Prospect:
        """It would run, unless each of its alternatives has a parent that will not come to what it needs."""
        dead = [[need for need in gate.needs if self._is_dead(need)] for gate in job.gates]
        if not dead or not all(dead):
            return Prospect(Fate.NEW)
        states = {need.parent: self._prospects[need.parent].state for needs in dead for need in needs}
        why = ", ".join(f"{name} is {state}" for name, state in states.items())
        if any(all(map(self._is_harmless, needs)) for needs in dead):
            return Prospect(Fate.SETTLED, State.SKIPPED, f"{State.SKIPPED}: {why}")
        return Prospect(Fate.LOST, State.UPSTREAM_FAILED, f"{State.UPSTREAM_FAILED}: {why}")

    def _is_dead(self, need: Need) -> bool:
        return self._prospects[need.parent].state in DEAD_FOR[need.when]

    def _is_harmless(self, need: Need) -> bool:
        """Nothing went wrong with a parent that was skipped, or that did not fail as its child wanted."""
        return need.when == "failed" or self._prospects[need.parent].state is State.SKIPPED

    def _is_open(self, need: Need) -> bool:
        return self._prospects[need.parent].state not in MET[need.when]

    def _open_needs(self, gate: Gate) -> list[str]:
        """By reference, or by name what nobody would ask for."""
        names = [need.parent for need in gate.needs if self._is_open(need)]
        return [self._references.get(name, str(name)) for name in names]

    def _may_run(self, job: PlannedJob) -> bool:
        is_due = job.policy.start_after is None or job.policy.start_after <= self._now
        return is_due and (not job.gates or not all(self._open_needs(gate) for gate in job.gates))


def _standing(state: State | None, *, asked_for: bool = False) -> Prospect:
    """The prospect of a job that stays as it is."""
    if state in (State.SUCCEEDED, State.SKIPPED):
        return Prospect(Fate.SETTLED, state, f"{state}: the ledger has it")
    if asked_for:
        return Prospect(Fate.LOST, state, f"{state}: the ledger has it; --rerun job runs it again")
    return Prospect(Fate.NAMED, state)


def _references(jobs: Iterable[PlannedJob]) -> dict[JobName, str]:
    """``B#2`` is the second job of B in the plan."""
    numbers: Counter[str] = Counter()
    references = {}
    for job in jobs:
        numbers[job.name.app] += 1
        references[job.name] = f"{job.name.app}#{numbers[job.name.app]}"
    return references
