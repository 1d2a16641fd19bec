"""What undoes a saga across apps: which jobs, and which of them before which. Pure, as all planning.

Everything is undone after what came of it. That goes through jobs that have nothing to undo, and through what cannot be
undone: those above them are undone all the same.
"""

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.app import IRREVERSIBLE
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.compensation import compensation_of, is_reversible
from sluice.jobs.effect import Earlier, Effect
from sluice.jobs.errors import BadRequest
from sluice.jobs.gate import Gate, Need
from sluice.jobs.plan import Plan, PlannedJob, Rerun, Standing, Wish
from sluice.jobs.pooling import pool_of
from sluice.jobs.ref import JobName
from sluice.jobs.submission import JSON
from sluice.planner.merge import in_order

_GATE = "compensation"
#: Of those that cannot be undone so many are named.
NAMED_MAX = 5


class Compensation(Struct, frozen=True, kw_only=True):
    """``undoing`` has, by its id, the job that undoes each effect; ``irreversible`` are those that stay, and
    ``unknown`` those of apps that the definitions do not have any more. ``uncompensated`` are sagas whose apps do not
    say what undoes their success: they have done something, and the undos of their own steps are not called for it."""

    undoing: Mapping[int, JobName]
    effects: Mapping[int, Effect]
    irreversible: tuple[JobName, ...] = ()
    unknown: tuple[JobName, ...] = ()
    uncompensated: tuple[JobName, ...] = ()

    @property
    def reason(self) -> str | None:
        """What has to be said of it."""
        kinds = {
            "irreversible": self.irreversible,
            "not in the definitions": self.unknown,
            "sagas without compensate": self.uncompensated,
        }
        return "; ".join(f"{kind}: {_listed(names)}" for kind, names in kinds.items() if names) or None


def lay_out(catalogue: Catalogue, effects: Iterable[Effect]) -> Compensation:
    """Which job undoes which."""
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
    earlier: Mapping[JobName, Earlier],
    *,
    askers: Mapping[int, int] | None = None,
    behind: Iterable[tuple[int, JobName]] = (),
) -> Plan:
    """The jobs that undo, each after those that undo what came of it.

    ``ties`` are (parent, child) of all that the sagas wanted, by their ids. What undid an ``earlier`` success, or
    failed to, is run again; one that is under way for this very success keeps what it waits for. ``askers`` has, by a
    saga, what undoes it, if that is not all ``number``. ``behind`` are compensations planned before, of what came of
    these effects.
    """
    undoing, own = laid_out.undoing, set(laid_out.undoing.values())
    below = _below(undoing, ties)
    needs = {id: {undoing[each] for each in below.get(id, ())} for id in undoing}
    known = [(id, name) for id, name in behind if id in undoing and name not in own]
    for id, name in known:
        needs[id].add(name)
    planned = [
        _planned(catalogue, number, name, laid_out.effects[id].kwargs or {}, sorted(needs[id]))
        for id, name in undoing.items()
    ]
    jobs = [_as_it_is(job) if job.name in earlier and earlier[job.name].is_live else job for job in planned]
    again = tuple(job.name for job in jobs if job.name in earlier and not earlier[job.name].is_live)
    named = [_named(catalogue, name) for name in sorted({name for _, name in known})]
    return Plan(
        jobs=in_order(catalogue, [*jobs, *named]),
        wants=tuple(
            (asker, name, Wish.ASKED)
            for id, name in undoing.items()
            for asker in _askers(laid_out.effects[id], askers) or (number,)
        ),
        reruns=(Rerun(number, again),) if again else (),
    )


def _askers(effect: Effect, askers: Mapping[int, int] | None) -> tuple[int, ...]:
    return tuple(askers[saga] for saga in effect.sagas) if askers else ()


def _named(catalogue: Catalogue, name: JobName) -> PlannedJob:
    """One that is there already; whoever needs it waits for it as it is."""
    return PlannedJob(name=name, standing=Standing.EXPECTED, policy=catalogue.app(name.app).policy)


def _planned(
    catalogue: Catalogue, number: int, name: JobName, kwargs: Mapping[str, JSON], needs: Iterable[JobName]
) -> PlannedJob:
    app = catalogue.app(name.app)
    gate = Gate(_GATE, tuple(map(Need, needs)))
    return PlannedJob(
        name=name,
        standing=Standing.WANTED,
        gates=(gate,) if gate.needs else (),
        # What it waits for is of this saga, and of another the next time: so it is never taken for what it was.
        digest=f"{_GATE} {number}",
        policy=app.policy,
        offset_s=app.policy.start_offset_s(name, str(number)),
        kwargs=kwargs,
        pool=pool_of(app, app.policy, name.key, kwargs),
    )


def _as_it_is(job: PlannedJob) -> PlannedJob:
    return replace(job, digest=None)


def _below(undoing: Mapping[int, JobName], ties: Iterable[tuple[int, int]]) -> dict[int, frozenset[int]]:
    """For each job the nearest of those to be undone that came of it."""
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
            "What the saga has done cannot be put in order: its jobs came of each other in a circle.",
            advice="Run what undoes them by hand, in the order that is right.",
        ) from error
    return below


def _listed(names: tuple[JobName, ...]) -> str:
    named = ", ".join(map(str, names[:NAMED_MAX]))
    return named if len(names) <= NAMED_MAX else f"{named} and {len(names) - NAMED_MAX} more"
