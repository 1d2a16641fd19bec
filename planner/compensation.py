"""Compensation of a saga across apps: which jobs undo it, and in which order. Pure, like all planning.

Every job is undone after the jobs that came of it. Jobs that have nothing to undo, or cannot be undone, do not
interrupt this order: the jobs above them are still undone, after the jobs below them.
"""

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.app import IRREVERSIBLE
from sluice.jobs.model.compensation import EarlierCompensation, Effect, compensation_of, is_reversible
from sluice.jobs.model.dependency import Gate, Need
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import EntryState, JobPlan, PlannedJob, RequestReason, RerunRequest
from sluice.jobs.model.pool import pool_of, rate_of
from sluice.jobs.model.submission import JSON
from sluice.planner.bubble_up.merge import in_order

_GATE = "compensation"
#: Maximum number of jobs of each kind that the reason names.
NAMED_MAX = 5


class Compensation(Struct, frozen=True, kw_only=True):
    """Jobs that undo the effects of a saga.

    ``undoing`` maps the id of each effect to the job that undoes it. ``irreversible`` are the effects that stay.
    ``unknown`` are effects of apps that are no longer defined. ``uncompensated`` are sagas without a compensation for
    their success. They have had effects, and the undos of their own steps are not called after a success.
    """

    undoing: Mapping[int, JobName]
    effects: Mapping[int, Effect]
    irreversible: tuple[JobName, ...] = ()
    unknown: tuple[JobName, ...] = ()
    uncompensated: tuple[JobName, ...] = ()

    @property
    def reason(self) -> str | None:
        """Text that lists the jobs that are not undone, by kind; None if there are none."""
        kinds = {
            "irreversible": self.irreversible,
            "not in the definitions": self.unknown,
            "sagas without compensate": self.uncompensated,
        }
        return "; ".join(f"{kind}: {_listed(names)}" for kind, names in kinds.items() if names) or None


def lay_out(catalogue: Catalogue, effects: Iterable[Effect]) -> Compensation:
    """Assign to each effect the job that undoes it."""
    undoing: dict[int, JobName] = {}
    irreversible: list[JobName] = []
    unknown: list[JobName] = []
    uncompensated: list[JobName] = []
    found = {effect.id: effect for effect in effects}
    for effect in found.values():
        app = catalogue.get(effect.app)
        if app is None:
            unknown.append(effect.name)
        elif app.compensate == IRREVERSIBLE:
            irreversible.append(effect.name)
        elif is_reversible(app):
            undoing[effect.id] = compensation_of(app, effect.key, catalogue.app(app.compensate or ""))
        elif app.saga is not None:
            uncompensated.append(effect.name)
    return Compensation(
        undoing=undoing,
        effects=found,
        irreversible=tuple(irreversible),
        unknown=tuple(unknown),
        uncompensated=tuple(uncompensated),
    )


def plan_of(
    catalogue: Catalogue,
    number: int,
    laid_out: Compensation,
    ties: Iterable[tuple[int, int]],
    earlier: Mapping[JobName, EarlierCompensation],
    *,
    askers: Mapping[int, int] | None = None,
    behind: Iterable[tuple[int, JobName]] = (),
) -> JobPlan:
    """Plan the jobs that undo, each after the jobs that undo its consequences.

    ``ties`` are the pairs (parent, child) of all jobs that the sagas wanted, by id. A job in ``earlier`` has undone an
    earlier success, or failed to: it runs again. If it is under way for this very success, it keeps its needs.
    ``askers`` maps each saga to the submission that undoes it, if that is not ``number`` for all. ``behind`` are
    compensations that were planned before, for consequences of these effects.
    """
    undoing = laid_out.undoing
    known = _planned_before(undoing, behind)
    needs = _needs(undoing, ties, known)
    planned = [
        _planned(catalogue, number, name, laid_out.effects[id].kwargs or {}, sorted(needs[id]))
        for id, name in undoing.items()
    ]
    live = {name for name, job in earlier.items() if job.is_live}
    jobs = [_as_it_is(job) if job.name in live else job for job in planned]
    dead = earlier.keys() - live
    again = tuple(job.name for job in planned if job.name in dead)
    named = [_named(catalogue, name) for name in sorted({name for _, name in known})]
    return JobPlan(
        jobs=in_order(catalogue, [*jobs, *named]),
        requests=_requests(laid_out, number, askers),
        reruns=(RerunRequest(number, again),) if again else (),
    )


def _planned_before(
    undoing: Mapping[int, JobName], behind: Iterable[tuple[int, JobName]]
) -> list[tuple[int, JobName]]:
    """Return the pairs of an effect that is undone here and a compensation that this plan does not make itself."""
    own = set(undoing.values())
    return [(id, name) for id, name in behind if id in undoing and name not in own]


def _needs(
    undoing: Mapping[int, JobName], ties: Iterable[tuple[int, int]], known: Iterable[tuple[int, JobName]]
) -> dict[int, set[JobName]]:
    """Return the compensations that each must follow: those of its consequences, and the ``known`` ones."""
    below = _below(undoing, ties)
    needs = {id: {undoing[each] for each in below.get(id, ())} for id in undoing}
    for id, name in known:
        needs[id].add(name)
    return needs


def _requests(
    laid_out: Compensation, number: int, askers: Mapping[int, int] | None
) -> tuple[tuple[int, JobName, RequestReason], ...]:
    return tuple(
        (asker, name, RequestReason.ASKED)
        for id, name in laid_out.undoing.items()
        for asker in _askers(laid_out.effects[id], askers) or (number,)
    )


def _askers(effect: Effect, askers: Mapping[int, int] | None) -> tuple[int, ...]:
    return tuple(askers[saga] for saga in effect.sagas) if askers else ()


def _named(catalogue: Catalogue, name: JobName) -> PlannedJob:
    """Return an existing compensation. Jobs that need it wait for it as it is."""
    return PlannedJob(name=name, standing=EntryState.EXPECTED, policy=catalogue.app(name.app).policy)


def _planned(
    catalogue: Catalogue, number: int, name: JobName, kwargs: Mapping[str, JSON], needs: Iterable[JobName]
) -> PlannedJob:
    app = catalogue.app(name.app)
    gate = Gate(_GATE, tuple(map(Need, needs)))
    return PlannedJob(
        name=name,
        standing=EntryState.WANTED,
        gates=(gate,) if gate.needs else (),
        # The needs belong to this saga. The number in the digest keeps a later saga from reusing them.
        digest=f"{_GATE} {number}",
        policy=app.policy,
        offset_s=app.policy.start_offset_s(name, str(number)),
        kwargs=kwargs,
        pool=pool_of(app, app.policy, name.key, kwargs),
        rate=rate_of(app, name.key, kwargs),
    )


def _as_it_is(job: PlannedJob) -> PlannedJob:
    return replace(job, digest=None)


def _below(undoing: Mapping[int, JobName], ties: Iterable[tuple[int, int]]) -> dict[int, frozenset[int]]:
    """Return, for each job, the nearest of its consequences that are undone."""
    children: dict[int, list[int]] = {}
    for parent, child in ties:
        children.setdefault(parent, []).append(child)
    below: dict[int, frozenset[int]] = {}
    try:
        for id in TopologicalSorter(children).static_order():
            found = (
                frozenset((child,)) if child in undoing else below[child] for child in children.get(id, ())
            )
            below[id] = frozenset().union(*found)
    except CycleError as error:
        raise BadRequest(
            "The effects of the saga cannot be put in order, because its jobs triggered each other in a circle.",
            advice="Run the jobs that undo them by hand, in the right order.",
        ) from error
    return below


def _listed(names: tuple[JobName, ...]) -> str:
    named = ", ".join(map(str, names[:NAMED_MAX]))
    return named if len(names) <= NAMED_MAX else f"{named} and {len(names) - NAMED_MAX} more"
