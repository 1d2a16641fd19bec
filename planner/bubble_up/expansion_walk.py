"""Walk to the jobs that a successful job adds to a submission (``job.expand``)."""

from collections.abc import Collection, Iterable, Iterator
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

    ``left`` are jobs of an earlier expansion that are not named any more. They lose the needs of that expansion, of
    which the parents are ``replaced``. Needs that the definitions of these jobs have too are ``defined``, each with the
    place of its gate, and stay. ``dropped`` are jobs of ``left`` that do not depend on the job by their definition, and
    that no other job has added. The jobs of ``shared`` were added by others too. ``held`` are the jobs whose needs, or
    whose requests by other submissions, the plan depends on: the job, the last jobs, and ``left``.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        parent: JobName,
        expansions: Collection[Expansion],
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
        before, shared = frozenset(before), frozenset(shared)
        self.replaced = before - shared | {parent}
        self.left = sorted(before - self.named.keys())
        self.defined = [need for name in self.left for need in _defined(catalogue, name, self.replaced)]
        depending = {child for child, _, needed in self.defined if needed == parent}
        self.dropped = {*self.left} - shared - depending
        last = {expansion.then for expansion in expansions if expansion.then is not None}
        self.held = {parent, *self.left, *last}

    def needs(self, name: JobName, known: Iterable[Need]) -> tuple[Need, ...]:
        """Return the added needs of a job from now on. ``known`` are its added needs in the ledger. Needs that other
        jobs have added stay."""
        others = {need.parent: need for need in known if need.parent not in self.replaced}
        needs = others | self.named.get(name, {})
        return tuple(needs[parent] for parent in sorted(needs))

    def _need(self, name: JobName, need: Need) -> None:
        self.named.setdefault(name, {})[need.parent] = need


def _defined(
    catalogue: Catalogue, name: JobName, parents: Collection[JobName]
) -> Iterator[tuple[JobName, int, JobName]]:
    """Yield the needs that a job has of these parents by its definition: the job, the place of the gate, the parent."""
    if name.app not in catalogue:
        return
    app = catalogue.app(name.app)
    for place, gate in enumerate(keyspace_of(app, catalogue).gates(app, name.key)):
        yield from ((name, place, need.parent) for need in gate.needs if need.parent in parents)


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
        return self._needs.named

    def _added_needs(self, name: JobName) -> tuple[Need, ...]:
        return self._needs.needs(name, super()._added_needs(name))

    def _runs_again(self, name: JobName) -> bool:
        return name in self._needs.named or super()._runs_again(name)
