"""Age limits of the inputs of one walk (``max_lag``), and the inputs that exceed them."""

from collections.abc import Iterable
from datetime import datetime
from itertools import chain

from msgspec.structs import replace

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.model.dependency import Gate, Need
from sluice.jobs.model.freshness import is_fresh
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import KnownJob, PlannedJob
from sluice.jobs.states import LIVE, State
from sluice.planner.keyspaces.choose import keyspace_of

_UNDER_WAY = LIVE - {State.EXPECTED}


class Ages:
    """Known states of the jobs that a walk has visited, and the time by which their age is judged."""

    def __init__(self, catalogue: Catalogue, now: datetime) -> None:
        self._catalogue = catalogue
        self._now = now
        self._known: dict[JobName, KnownJob] = {}

    def note(self, name: JobName, known: KnownJob) -> None:
        """Record a visited job, because it may turn out to be a parent of another."""
        self._known[name] = known

    def matter(self, app: str) -> bool:
        """Return whether a parent of this app's jobs, or one further upstream, may be too old."""
        return self._catalogue.minds_age(app)

    def told(self, job: PlannedJob, gates: Iterable[Gate]) -> PlannedJob:
        """Return the job with its stale parents, which are too old for it.

        If several needs name a parent, the shortest lag applies. A parent that would no longer pass its filter cannot
        run again, so it is accepted as it is.
        """
        if not self.matter(job.name.app):
            return job
        child = self._known.get(job.name)
        if child and child.state in _UNDER_WAY:
            found = self._too_old_then(child)
        else:
            found = self._too_old(chain.from_iterable(gate.needs for gate in gates))
        stale = {known.name: known.claim for known in found if self._may_run(known.name)}
        return replace(job, stale=stale) if stale else job

    def _too_old(self, needs: Iterable[Need]) -> Iterable[KnownJob]:
        """Yield the parents that are too old now. If the time of a success is unknown, it counts as just now."""
        for need in needs:
            if need.lag_s_max is None:
                continue
            known = self._known.get(need.parent)
            if (
                known
                and known.state is State.SUCCEEDED
                and not is_fresh(known.since or self._now, need.lag_s_max, self._now)
            ):
                yield known

    def _too_old_then(self, child: KnownJob) -> Iterable[KnownJob]:
        """Yield the parents that were too old when the child was planned and have not run since. A child under way
        keeps the inputs that it was planned with, so no other parents count."""
        for name, claim in child.lacks:
            known = self._known.get(name)
            if known and known.state is State.SUCCEEDED and known.claim == claim:
                yield known

    def _may_run(self, name: JobName) -> bool:
        app = self._catalogue.app(name.app)
        return keyspace_of(app, self._catalogue).passes(app, name.key)
