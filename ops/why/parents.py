"""Texts about parents: some may still meet a dependency, and others will not."""

from collections.abc import Iterator, Mapping, Sequence

from sluice.jobs.model.dependency import When
from sluice.jobs.model.names import JobName
from sluice.jobs.states import TERMINAL, State
from sluice.ledger.reads.obstacles import Cause, UnmetAlternative, UnmetDependency
from sluice.ops.text import first_line
from sluice.ops.why import partitions
from sluice.ops.why.answer import Reason, Remedy, WaitsFor, remedy

_TO: Mapping[When, str] = {"succeeded": "succeed", "failed": "fail", "finished": "end", "running": "start"}


def waiting(
    name: JobName,
    alternatives: Sequence[UnmetAlternative],
    parents: Sequence[UnmetDependency],
    fates: Mapping[JobName, str],
) -> Reason:
    """Explain a job that no alternative lets run yet. For some parents, ``fates`` has more detail than their state."""
    lost = {each.name for each in alternatives if each.impossible}
    several = len(alternatives) > 1
    awaited = [parent for parent in parents if parent.group not in lost and not parent.to_land]
    to_land = [parent for parent in parents if parent.to_land]
    dead = [parent for parent in parents if parent.impossible]
    return Reason(
        _waits(alternatives, several=several),
        [
            *(_awaited(each, fates.get(each.name), named=several) for each in awaited),
            *map(partitions.awaited, to_land),
            *(_lost(each, named=several) for each in dead),
        ],
        [
            *partitions.remedies(to_land),
            *_about_awaited(name, awaited),
            *(_about_lost(each) for each in dead[:1]),
        ],
    )


def dead_end(parents: Sequence[UnmetDependency], found: Sequence[Cause]) -> str:
    """Return why the dependencies will not be met, as near to the cause as it is known. Empty if they still may be."""
    dead = [parent for parent in parents if parent.impossible]
    if found and all(parent.condition == "succeeded" for parent in dead):
        told = [f"{cause.name} is {cause.state}{_after(cause.error)}" for cause in found]
    else:
        told = [f"{_fate(parent)}{_after(parent.error)}" for parent in dead]
    return f"{told[0]} (and {len(told) - 1} more)" if len(told) > 1 else "".join(told)


def causes(parents: Sequence[UnmetDependency], found: Sequence[Cause]) -> list[WaitsFor]:
    """Return the failed jobs that are the cause, however far upstream. If these are unknown, return the dead
    parents.
    """
    told: Sequence[Cause | UnmetDependency] = found or [parent for parent in parents if parent.impossible]
    return [
        WaitsFor(
            kind="cause",
            what=f"{each.name}, which is {each.state}{_after(each.error)}",
            since=each.since,
            app=each.app,
            key=each.key,
            state=each.state,
        )
        for each in told
    ]


def _waits(alternatives: Sequence[UnmetAlternative], *, several: bool) -> str:
    possible = [each for each in alternatives if not each.impossible]
    if not several:
        return f"waits for {' or '.join(map(_counted, possible)) or 'parents that can no longer meet its dependencies'}"
    ways = " or ".join(f"alternative {each.name} ({_counted(each)})" for each in possible)
    lost = ", ".join(each.name for each in alternatives if each.impossible)
    return f"waits for {ways}{f'; alternative {lost} can no longer be met' if lost else ''}"


def _counted(each: UnmetAlternative) -> str:
    """Return the unmet parents of an alternative as text, like ``1 parent, which is running`` or ``3 parents: 2
    running, 1 not asked for``.
    """
    if each.to_land == each.unmet:
        return partitions.counted(each.to_land)
    if each.unmet == 1:
        return f"1 parent, {' and '.join(map(_standing, each.states))}"
    told = (
        f"{count} {_unasked(each) if state is State.EXPECTED else state}"
        for state, count in each.states.items()
    )
    return f"{each.unmet} parents: {', '.join(told)}"


def _unasked(each: UnmetAlternative) -> str:
    return "not landed" if each.of_step else "not requested"


def _standing(state: State) -> str:
    return "which no submission has requested" if state is State.EXPECTED else f"which is {state}"


def _awaited(parent: UnmetDependency, fate: str | None, *, named: bool) -> WaitsFor:
    group = f" (alternative {parent.group})" if named else ""
    wish = "" if parent.condition == "succeeded" else f" to {_TO[parent.condition]}"
    what = f"{parent.name}{wish}{group}, {fate or _standing(parent.state)}"
    unnoticed = parent.state in TERMINAL and not parent.stale
    if parent.stale:
        what = f"{parent.name}{group}, which has succeeded, but too long ago"
    if unnoticed:
        what = f"the planner to notice that {parent.name}{group} is {parent.state}"
    return WaitsFor(
        kind="planner" if unnoticed else "parent",
        what=what,
        since=parent.since,
        app=parent.app,
        key=parent.key,
        state=parent.state,
    )


def _lost(parent: UnmetDependency, *, named: bool) -> WaitsFor:
    group = f"alternative {parent.group}: " if named else ""
    return WaitsFor(
        kind="lost",
        what=f"{group}{_fate(parent)}{_after(parent.error)}",
        since=parent.since,
        app=parent.app,
        key=parent.key,
        state=parent.state,
    )


def _fate(parent: UnmetDependency) -> str:
    wish = "" if parent.condition == "succeeded" else f", but had to {_TO[parent.condition]}"
    return f"{parent.name} is {parent.state}{wish}"


def _about_awaited(name: JobName, awaited: Sequence[UnmetDependency]) -> Iterator[Remedy]:
    """Yield one remedy. If an alternative may still be met by itself, it explains a parent. Otherwise it requests a
    missing parent, or the job with all its parents.
    """
    unasked = [parent for parent in awaited if parent.state is State.EXPECTED or parent.stale]
    stuck = {parent.group for parent in unasked}
    if coming := [parent for parent in awaited if parent.group not in stuck]:
        yield remedy("why", coming[0].name, "shows what that job waits for")
    elif len(unasked) == 1 and unasked[0].stale:
        yield _about_lost(unasked[0])
    elif len(unasked) == 1:
        yield remedy("submit", unasked[0].name, "requests the missing parent")
    elif unasked:
        yield remedy("submit", name, "requests this job, and so all its missing parents")


def _about_lost(parent: UnmetDependency) -> Remedy:
    return remedy("retry", parent.name, "runs it again, with the upstream jobs that it needs")


def _after(error: str | None) -> str:
    said = first_line(error)
    return f": {said}" if said else ""
