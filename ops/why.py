"""Why a job is in its state, in words: what it waits for, since when, and what would help."""

from datetime import datetime

from msgspec import Struct

from jobs.ref import JobName
from jobs.states import State
from ledger.reads.dossier import Job, Parent
from ledger.reads.obstacles import Obstacles

#: A job with thousands of parents is explained by the first few that are missing.
NAMED_MAX = 20


class WaitsFor(Struct, frozen=True, kw_only=True):
    """``kind`` is parent, time, lease, worker, judge or submission."""

    kind: str
    what: str
    since: datetime | None = None


class Answer(Struct, frozen=True, kw_only=True):
    app: str
    key: str
    state: State | None
    because: str
    since: datetime | None = None
    waits_for: list[WaitsFor] = []
    remedy: str = ""


def explain(name: JobName, facts: Obstacles) -> Answer:
    """The whole answer. A job the ledger has never heard of gets one too."""
    job = facts.job
    if job is None:
        return _unknown(name, facts)
    because, waits_for, remedy = _EXPLAIN.get(job.state, _ended)(job, facts)
    return Answer(
        app=job.app,
        key=job.key,
        state=job.state,
        because=f"{name} is {job.state}{because}",
        since=job.changed_at,
        waits_for=waits_for,
        remedy=remedy,
    )


_Reason = tuple[str, list[WaitsFor], str]


def _unknown(name: JobName, facts: Obstacles) -> Answer:
    waits_for = [_unplanned(id_) for id_ in facts.unplanned]
    remedy = "Start a planner: sluice up, or python -m actors.worker." if waits_for else ""
    return Answer(
        app=name.app,
        key=name.key,
        state=None,
        because=f"The ledger has no job {name}: nobody has asked for it"
        + (", or the submission that did is not planned yet." if waits_for else "."),
        waits_for=waits_for,
        remedy=remedy or f"sluice submit {name.app} {name.key}",
    )


def _expected(job: Job, facts: Obstacles) -> _Reason:
    return ": a child needs it, but nobody has asked for it.", [], f"sluice submit {job.app} {job.key}"


def _waiting(job: Job, facts: Obstacles) -> _Reason:
    if not job.open:
        missing = [_parent(parent) for parent in facts.unsettled[:NAMED_MAX]]
        more = len(facts.unsettled) - len(missing)
        because = f" for {len(facts.unsettled)} of its parents" + (f" ({more} more than shown)." if more > 0 else ".")
        return because, missing, _about_parents(facts.unsettled)
    if job.not_before is not None and job.not_before > facts.now:
        what = f"its time, {job.not_before:%Y-%m-%d %H:%M:%S} UTC"
        after = f" after: {facts.last_error}" if facts.last_error else ""
        return f" for its time to come{after}.", [WaitsFor(kind="time", what=what)], ""
    return ", and nothing keeps it: the groomer releases it.", [_groomer()], _about_planners(facts)


def _ready(job: Job, facts: Obstacles) -> _Reason:
    if not facts.servers:
        what = f"a worker on queue {job.app}; none is there"
        waits = [WaitsFor(kind="worker", what=what, since=job.changed_at)]
        return ", but no worker serves its queue.", waits, f"python -m actors.worker --queues {job.app}"
    what = f"one of {facts.servers} workers on queue {job.app}"
    waits = [WaitsFor(kind="worker", what=what, since=job.announced_at)]
    return " to run.", waits, ""


def _running(job: Job, facts: Obstacles) -> _Reason:
    if facts.lease_stands:
        return f" on {facts.holder}, round {job.round}.", [], ""
    waits = [WaitsFor(kind="lease", what=f"the groomer: {facts.holder} is gone", since=facts.lease_until)]
    return f", but its worker {facts.holder} has not been heard of.", waits, _about_planners(facts)


def _suspended(job: Job, facts: Obstacles) -> _Reason:
    return f": it waits for {job.event or 'an event'}.", [WaitsFor(kind="event", what=job.event or "an event")], ""


def _executed(job: Job, facts: Obstacles) -> _Reason:
    waits = [WaitsFor(kind="judge", what="the planner's judgement", since=job.changed_at)]
    return " and not judged yet.", waits, _about_planners(facts)


def _stranded(job: Job, facts: Obstacles) -> _Reason:
    dead = [_parent(parent) for parent in facts.unsettled if parent.settled is False][:NAMED_MAX]
    first = next((parent for parent in facts.unsettled if parent.settled is False), None)
    remedy = f"sluice retry {first.app} {first.key}" if first else f"sluice retry {job.app} {job.key}"
    return " because of its parents.", dead, remedy


def _ended(job: Job, facts: Obstacles) -> _Reason:
    if job.state is State.SUCCEEDED:
        return ".", [], ""
    after = f" in round {job.round}: {facts.last_error}" if facts.last_error else "."
    return after, [], f"sluice retry {job.app} {job.key}"


_EXPLAIN = {
    State.EXPECTED: _expected,
    State.WAITING: _waiting,
    State.READY: _ready,
    State.RUNNING: _running,
    State.SUSPENDED: _suspended,
    State.EXECUTED: _executed,
    State.UPSTREAM_FAILED: _stranded,
    State.SKIPPED: _stranded,
}


def _parent(parent: Parent) -> WaitsFor:
    wish = "" if parent.condition == "succeeded" else f" to be {parent.condition}"
    return WaitsFor(kind="parent", what=f"{parent.app}/{parent.key}{wish}, which is {parent.state}")


def _unplanned(id_: str) -> WaitsFor:
    return WaitsFor(kind="submission", what=f"submission {id_} to be planned")


def _groomer() -> WaitsFor:
    return WaitsFor(kind="time", what="the groomer's next tick")


def _about_parents(unsettled: list[Parent]) -> str:
    """What would help depends on the first parent that will not come by itself."""
    for parent in unsettled:
        if parent.state is State.EXPECTED:
            return f"sluice submit {parent.app} {parent.key}"
    return ""


def _about_planners(facts: Obstacles) -> str:
    return "" if facts.planners else "No planner is there. Start one: python -m actors.worker"
