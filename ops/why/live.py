"""Explanation of a job that has not ended."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from sluice.broker.messages import PLANNER
from sluice.jobs.states import State
from sluice.ledger.reads.job_details import JobRow
from sluice.ledger.reads.obstacles import Obstacles
from sluice.ops.text import first_line, moment, span
from sluice.ops.why import external, parents, partitions, pauses, pools, queue, sagas
from sluice.ops.why.answer import TIME, Reason, WaitsFor, absent, remedy


def reason(job: JobRow, facts: Obstacles) -> Reason:
    return sagas.under_way(job, facts.flight, _REASONS[job.state](job, facts))


def _expected(job: JobRow, facts: Obstacles) -> Reason:
    who = facts.child or "a child"
    if facts.to_land:
        return Reason(
            f"is an external partition that has not landed; {who} needs it",
            [],
            [partitions.land(job.app, [job.key])],
        )
    return Reason(
        f"is needed by {who}, but no submission has requested it",
        [],
        [remedy("submit", job.name, "requests it")],
    )


def _waiting(job: JobRow, facts: Obstacles) -> Reason:
    time = list(_time(job, facts))
    if not job.unblocked:
        otherwise = _waiting_for_parents(job, facts, time)
    elif time:
        otherwise = Reason(_until(job, facts), time, absent(facts, *TIME))
    elif facts.paused_by:
        otherwise = Reason("")
    elif facts.slot_wait:
        otherwise = pools.in_line(job, facts.slot_wait, facts)
    else:
        waits = [WaitsFor(kind="groomer", what="the groomer's next tick")]
        otherwise = Reason("may run and is about to become ready", waits, absent(facts, *TIME))
    return pauses.held_back(facts.paused_by, otherwise) if facts.paused_by else otherwise


def _waiting_for_parents(job: JobRow, facts: Obstacles, time: Sequence[WaitsFor]) -> Reason:
    """Explain a job with open dependency groups. The root is the parent or more distant upstream job that holds it up.
    Its own reason is part of the answer.
    """
    root = facts.root.job if facts.root else None
    end = reason(root, facts.root) if facts.root and root else Reason("")
    fates = {root.name: f"which {end.because}"} if root else {}
    because, waits, remedies = parents.waiting(job.name, facts.alternatives, facts.unmet, fates)
    keepers = absent(facts, PLANNER) if any(each.kind == "planner" for each in waits) else ()
    is_far = root and root.name not in {parent.name for parent in facts.unmet}
    far = [_root(root, end.because)] if root and is_far else []
    return Reason(because, [*waits, *time, *far], [*keepers, *end.remedies, *remedies])


def _root(job: JobRow, because: str) -> WaitsFor:
    """Return the obstacle at the upstream end."""
    return WaitsFor(
        kind="root",
        what=f"{job.name}, which {because}",
        since=job.changed_at,
        app=job.app,
        key=job.key,
        state=job.state,
    )


def _until(job: JobRow, facts: Obstacles) -> str:
    if not job.round:
        return "waits until it is due"
    error = first_line(facts.last_error)
    return f"waits to be tried again, in round {job.round}{', after: ' if error else ''}{error}"


def _time(job: JobRow, facts: Obstacles) -> Iterator[WaitsFor]:
    if job.not_before is not None and job.not_before > facts.now:
        left = span((job.not_before - facts.now).total_seconds())
        yield WaitsFor(kind="time", what=f"{moment(job.not_before)} UTC, in {left}")


def _running(job: JobRow, facts: Obstacles) -> Reason:
    if job.is_left:
        return external.detached(job, facts)
    lease = facts.lease
    holder = lease.holder if lease else "a worker that is no longer known"
    if lease and lease.stands:
        until = f", and times out at {moment(job.attempt_timeout_at)} UTC" if job.attempt_timeout_at else ""
        follow = remedy("logs --follow", job.name, "follows its output")
        return Reason(f"is running on {holder} in round {job.round}{until}", [], [follow])
    since = lease.lease_until if lease else None
    waits = [WaitsFor(kind="lease", what="the groomer to take it back", since=since)]
    return Reason(f"was running on {holder}, with an expired lease", waits, absent(facts, *TIME))


def _executed(job: JobRow, facts: Obstacles) -> Reason:
    waits = [WaitsFor(kind="planner", what="the planner's decision on its outcome", since=job.changed_at)]
    return Reason("has been executed, and its outcome is not decided yet", waits, absent(facts, PLANNER))


_REASONS: Mapping[State, Callable[[JobRow, Obstacles], Reason]] = {
    State.EXPECTED: _expected,
    State.WAITING: _waiting,
    State.READY: queue.ready,
    State.RUNNING: _running,
    State.SUSPENDED: sagas.suspended,
    State.EXECUTED: _executed,
}
