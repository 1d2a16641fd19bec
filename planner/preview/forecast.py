"""Predicted fate of each job of a plan, based on the known states."""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from sluice.jobs.model.dependency import DEAD_FOR, MET, Need
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import EntryState, PlannedJob
from sluice.jobs.states import LIVE, TERMINAL, State


class Forecast(StrEnum):
    """Predicted fate of a job.

    A ``SETTLED`` job need not run. An ``UNDER_WAY`` job has already been requested. A ``NEW`` job would run, a ``LOST``
    job cannot run. A ``NAMED`` job is only a parent in an alternative that was not chosen.
    """

    SETTLED = "settled"
    UNDER_WAY = "under way"
    NEW = "new"
    LOST = "lost"
    NAMED = "named"


class Prospect(NamedTuple):
    """Predicted fate of a job, with the reason. ``state`` is the state that the job keeps, or reaches without running;
    None if it would run or is unknown to the ledger."""

    fate: Forecast
    state: State | None = None
    why: str = ""


class Outlook:
    """Prospect of each job of a plan.

    ``jobs`` must be in parents-first order, so that the prospects of a job's parents are known before its own.
    ``again`` names the jobs that will run although they have ended.
    """

    def __init__(
        self, jobs: Iterable[PlannedJob], states: Mapping[JobName, State], *, again: Collection[JobName] = ()
    ) -> None:
        self._states = states
        self.again = again
        self._prospects: dict[JobName, Prospect] = {}
        for job in jobs:
            self._prospects[job.name] = self._judge(job)

    def __getitem__(self, name: JobName) -> Prospect:
        return self._prospects[name]

    def is_open(self, job: PlannedJob, need: Need) -> bool:
        """Return whether the need would still be unmet right after the job is planned."""
        return job.discounts(need) or self._prospects[need.parent].state not in MET[need.when]

    def upstream_failed(self) -> dict[JobName, State]:
        """Return the jobs that would become ``skipped`` or ``upstream_failed`` without running, with that state. Jobs
        that have already ended are left out."""
        return {
            name: prospect.state
            for name, prospect in self._prospects.items()
            if prospect.state in (State.UPSTREAM_FAILED, State.SKIPPED)
            and self._states.get(name) not in TERMINAL
        }

    def _judge(self, job: PlannedJob) -> Prospect:
        """Return the prospect of one job. An ended job that the walk wants was requested by name: the walk wants no
        other ended jobs."""
        state = self._states.get(job.name)
        if job.standing is EntryState.SKIPPED:
            why = f"{State.SKIPPED}: it does not pass valid_if_or"
            return Prospect(Forecast.SETTLED, State.SKIPPED, why)
        if job.standing is EntryState.EXPECTED:
            return _standing(state)
        if state is State.WAITING and (prospect := self._possible(job)).fate is not Forecast.NEW:
            return prospect  # Its needs are dead, but that has not been propagated yet.
        if state in LIVE - {State.EXPECTED}:
            return Prospect(Forecast.UNDER_WAY, state, f"{state}: already requested")
        if state in TERMINAL - {State.CANCELLED} and job.name not in self.again:
            return _standing(state, asked_for=True)
        return self._possible(job)

    def _possible(self, job: PlannedJob) -> Prospect:
        """Return the prospect of a job that may run: it runs, unless each of its alternatives has a parent that can no
        longer meet the need."""
        dead = [[need for need in gate.needs if self._is_dead(need)] for gate in job.gates]
        if not dead or not all(dead):
            return Prospect(Forecast.NEW)
        states = {need.parent: self._prospects[need.parent].state for needs in dead for need in needs}
        why = ", ".join(f"{name} is {state}" for name, state in states.items())
        if any(all(map(self._is_harmless, needs)) for needs in dead):
            return Prospect(Forecast.SETTLED, State.SKIPPED, f"{State.SKIPPED}: {why}")
        return Prospect(Forecast.LOST, State.UPSTREAM_FAILED, f"{State.UPSTREAM_FAILED}: {why}")

    def _is_dead(self, need: Need) -> bool:
        return self._prospects[need.parent].state in DEAD_FOR[need.when]

    def _is_harmless(self, need: Need) -> bool:
        """Return whether a dead need means that nothing went wrong: its parent was skipped, or the child needed a
        failure that did not happen."""
        return need.when == "failed" or self._prospects[need.parent].state is State.SKIPPED


def _standing(state: State | None, *, asked_for: bool = False) -> Prospect:
    """Return the prospect of a job that stays as it is."""
    if state in (State.SUCCEEDED, State.SKIPPED):
        return Prospect(Forecast.SETTLED, state, f"{state}: the ledger has it")
    if asked_for:
        return Prospect(Forecast.LOST, state, f"{state}: the ledger has it; --rerun job runs it again")
    return Prospect(Forecast.NAMED, state)
