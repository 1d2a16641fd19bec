"""Walk to the jobs that a successful job adds to a submission (``job.expand``)."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec.structs import replace

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.expansions import Expansion
from sluice.jobs.model.dependency import Need
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import RequestReason
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import TERMINAL
from sluice.planner.bubble_up.walk import Walk
from sluice.planner.keyspaces.choose import keyspace_of


class AddedNeeds:
    """Needs that one successful job adds. ``named`` are the jobs of its expansions, each with its added needs.

    ``kept`` are jobs of an earlier expansion that are not named any more, but depend on the job by their definition, or
    are ``shared``: another job has added them too. They lose the needs of the earlier expansion, unless the parent is
    shared. ``dropped`` are the others, which nothing needs any more.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        parent: JobName,
        expansions: Iterable[Expansion],
        before: Iterable[JobName],
        shared: Iterable[JobName] = (),
    ) -> None:
        self.parent = parent
        self.named: dict[JobName, dict[JobName, Need]] = {}
        for expansion in expansions:
            for part in expansion.parts:
                self._need(part, Need(parent, added=True, is_met=True))
                if expansion.then is not None:
                    self._need(expansion.then, Need(part, expansion.when, added=True))
            if expansion.then is not None:
                self._need(expansion.then, Need(parent, added=True, is_met=True))
        before, self._shared = frozenset(before), frozenset(shared)
        self._replaced = before - self._shared
        gone = [name for name in before if name not in self.named]
        self.kept = [name for name in gone if name in self._shared or _depends(catalogue, name, parent)]
        self.dropped = [name for name in gone if name not in self.kept]

    def needs(self, name: JobName, known: Iterable[Need]) -> tuple[Need, ...]:
        """Return the added needs of a job from now on. ``known`` are its added needs in the ledger. Needs that other
        jobs have added stay."""
        others = {
            need.parent: need
            for need in known
            if need.parent not in self._replaced and (need.parent != self.parent or name in self._shared)
        }
        needs = others | self.named.get(name, {})
        return tuple(needs[parent] for parent in sorted(needs))

    def _need(self, name: JobName, need: Need) -> None:
        self.named.setdefault(name, {})[need.parent] = need


def _depends(catalogue: Catalogue, name: JobName, parent: JobName) -> bool:
    """Return whether a job depends on another one by its definition."""
    if name.app not in catalogue:
        return False
    app = catalogue.app(name.app)
    gates = keyspace_of(app, catalogue).gates(app, name.key)
    return any(need.parent == parent for gate in gates for need in gate.needs)


class ExpansionWalk(Walk):
    """Walk of one submission to the named jobs. They run again if they have ended. The submission requests them for the
    reason ``asked_as`` that it has for the job that adds them."""

    def __init__(
        self,
        catalogue: Catalogue,
        number: int,
        submission: Submission,
        now: datetime | None,
        *,
        needs: AddedNeeds,
        asked_as: RequestReason,
    ) -> None:
        self._needs = needs
        self._asked_as = asked_as
        super().__init__(catalogue, number, replace(submission, rerun=None, after=None), now)

    @property
    def needs(self) -> AddedNeeds:
        return self._needs

    def ended(self) -> Iterator[JobName]:
        """Yield the named jobs that had ended when the walk read their states."""
        return (name for name in self._needs.named if self._states[name] in TERMINAL)

    def _expand(self) -> Iterable[JobName]:
        return [*self._needs.named, *self._needs.kept]

    def _added_needs(self, name: JobName) -> tuple[Need, ...]:
        return self._needs.needs(name, super()._added_needs(name))

    def _runs_again(self, name: JobName) -> bool:
        return name in self._needs.named or super()._runs_again(name)
