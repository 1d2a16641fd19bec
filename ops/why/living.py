"""What a job that has not ended waits for."""

from collections.abc import Callable, Mapping, Sequence

from jobs.states import State
from ledger.reads.dossier import Job
from ledger.reads.obstacles import Obstacles, Unsettled
from ops.times import moment
from ops.why.answer import Reason, Remedy, WaitsFor, remedy
from ops.words import first_line


def reason(job: Job, facts: Obstacles) -> Reason:
    return _REASONS[job.state](job, facts)


def about_planners(facts: Obstacles) -> Sequence[Remedy]:
    """What to do where nobody plans, judges and grooms; nothing where somebody does."""
    if facts.planners:
        return ()
    return (
        Remedy("sluice up", "starts who plans and runs: nobody is there"),
        Remedy("python -m actors.worker", "the same, as a worker"),
    )


def _expected(job: Job, _: Obstacles) -> Reason:
    return Reason(
        "is needed by a child, but nobody has asked for it", [], [remedy("submit", job.name, "asks for it")]
    )


def _waiting(job: Job, facts: Obstacles) -> Reason:
    if not job.open:
        return _waiting_for_parents(facts)
    if job.not_before is not None and job.not_before > facts.now:
        return _waiting_for_its_time(job, facts)
    waits = [WaitsFor(kind="groomer", what="the groomer's next tick")]
    return Reason("may run and is about to be released", waits, about_planners(facts))


def _waiting_for_parents(facts: Obstacles) -> Reason:
    told = facts.unsettled
    total = told[0].total if told else 0
    ways = f", by any of {facts.alternatives} alternatives" if facts.alternatives > 1 else ""
    more = f" (the first {len(told)} are listed)" if total > len(told) else ""
    parents = "parent" if total == 1 else "parents"
    waits = [_parent(each, named=facts.alternatives > 1) for each in told]
    return Reason(f"waits for {total} {parents}{ways}{more}", waits, _about_parents(told))


def _waiting_for_its_time(job: Job, facts: Obstacles) -> Reason:
    waits = [WaitsFor(kind="time", what=f"{moment(job.not_before)} UTC")]
    if not job.round:
        return Reason("waits for its time to come", waits, about_planners(facts))
    error = first_line(facts.last_error)
    tried = f"waits to be tried again, in round {job.round}{', after: ' if error else ''}{error}"
    return Reason(tried, waits, about_planners(facts))


def _ready(job: Job, facts: Obstacles) -> Reason:
    if not facts.servers:
        waits = [WaitsFor(kind="worker", what=f"a worker on queue {job.app}", since=job.changed_at)]
        remedies = [
            Remedy("sluice up", "serves every queue"),
            Remedy(f"python -m actors.worker --queues {job.app}", "serves this one"),
        ]
        return Reason("is ready to run, but no worker serves its queue", waits, remedies)
    workers = "the worker" if facts.servers == 1 else f"one of {facts.servers} workers"
    what = f"{workers} on queue {job.app}; of its jobs {facts.queue.running} run and {facts.queue.ready} are ready"
    return Reason("is ready to run", [WaitsFor(kind="worker", what=what, since=job.announced_at)])


def _running(job: Job, facts: Obstacles) -> Reason:
    lease = facts.lease
    holder = lease.holder if lease else "a worker that is not known any more"
    if lease and lease.stands:
        until = f", and has until {moment(job.deadline)} UTC" if job.deadline else ""
        follow = remedy("logs --follow", job.name, "shows what it printed when it ends")
        return Reason(f"is running on {holder} in round {job.round}{until}", [], [follow])
    since = lease.lease_until if lease else None
    waits = [WaitsFor(kind="lease", what="the groomer to give it to another", since=since)]
    return Reason(f"was running on {holder}, which has not been heard of", waits, about_planners(facts))


def _suspended(job: Job, _: Obstacles) -> Reason:
    what = job.event or "an event"
    return Reason(f"is suspended until {what} comes", [WaitsFor(kind="event", what=what)])


def _executed(job: Job, facts: Obstacles) -> Reason:
    waits = [WaitsFor(kind="planner", what="the planner's judgement", since=job.changed_at)]
    return Reason("has been executed and is not judged yet", waits, about_planners(facts))


def _parent(parent: Unsettled, *, named: bool) -> WaitsFor:
    wish = "" if parent.condition == "succeeded" else f" to be {parent.condition}"
    group = f" (alternative {parent.group})" if named else ""
    never = ", and will not come to what is needed" if parent.dead else ""
    return WaitsFor(
        kind="parent",
        what=f"{parent.name}{wish}{group}, which is {parent.state}{never}",
        since=parent.since,
        app=parent.app,
        key=parent.key,
        state=parent.state,
    )


def _about_parents(unsettled: list[Unsettled]) -> Sequence[Remedy]:
    """What would help with the first parent that does not come by itself; else where to look next."""
    for parent in unsettled:
        if parent.state is State.EXPECTED:
            return [remedy("submit", parent.name, "asks for what nobody has asked for")]
    living = [parent for parent in unsettled if not parent.dead]
    return [remedy("why", living[0].name, "says what that one waits for")] if living else []


_REASONS: Mapping[State, Callable[[Job, Obstacles], Reason]] = {
    State.EXPECTED: _expected,
    State.WAITING: _waiting,
    State.READY: _ready,
    State.RUNNING: _running,
    State.SUSPENDED: _suspended,
    State.EXECUTED: _executed,
}
