"""Explanation of a job that is ready."""

from collections.abc import Sequence
from datetime import timedelta

from sluice.ledger.reads.fleet import QueueWorkers, RunningJob
from sluice.ledger.reads.job_details import JobRow
from sluice.ledger.reads.obstacles import AHEAD_MAX, Obstacles
from sluice.ops.text import ago
from sluice.ops.why import pauses
from sluice.ops.why.answer import TIME, Reason, Remedy, WaitsFor, absent

#: Maximum time that a notification, or its repetition, normally takes to arrive.
SOON = timedelta(minutes=1)


def ready(job: JobRow, facts: Obstacles) -> Reason:
    if facts.app_pause:
        return pauses.app_held_back(facts.app_pause, "is ready to run")
    crew = facts.crew or QueueWorkers(workers=0, threads=0, busy=0)
    if not crew.workers:
        return _unserved(job, crew, facts)
    more = Remedy(f"sluice worker --queues {job.app}", "adds a worker for it")
    before = _before(job, facts)
    if not crew.has_room:
        busy = (
            f"all {crew.threads} threads on its queue are"
            if crew.threads > 1
            else "the only thread on its queue is"
        )
        return Reason(f"is ready to run, but {busy} busy", [*map(_held, crew.held), *before], [more])
    if before:
        are = "is" if facts.ahead == 1 else "are"
        return Reason(f"is ready to run, but {_count(job, facts)} {are} before it", before, [more])
    taken = WaitsFor(kind="worker", what=f"a worker on queue {job.app} to take it", since=job.dispatched_at)
    is_late = job.dispatched_at is not None and facts.now - job.dispatched_at > SOON
    look = [Remedy("sluice workers", "lists the workers and their queues")] if is_late else []
    return Reason("is ready to run, and a thread is free", [taken], [*absent(facts, *TIME), *look])


def _unserved(job: JobRow, crew: QueueWorkers, facts: Obstacles) -> Reason:
    last = ""
    if crew.gone:
        fate = "was lost" if crew.gone.lost else "left"
        last = f" (the last worker that did, {crew.gone.host}:{crew.gone.pid}, {fate} {ago(crew.gone.at, facts.now)})"
    return Reason(
        f"is ready to run, but no worker serves its queue{last}",
        [WaitsFor(kind="worker", what=f"a worker on queue {job.app}", since=job.changed_at)],
        [
            Remedy("sluice up", "serves every queue"),
            Remedy(f"sluice worker --queues {job.app}", "serves this queue"),
        ],
    )


def _held(held: RunningJob) -> WaitsFor:
    return WaitsFor(
        kind="slot",
        what=f"{held.host}:{held.pid}, which runs {held.name}",
        since=held.since,
        app=held.app,
        key=held.key,
        state=held.state,
    )


def _before(job: JobRow, facts: Obstacles) -> Sequence[WaitsFor]:
    """Return the number of jobs before it: more urgent jobs, and older jobs of the same urgency."""
    if not facts.ahead:
        return ()
    return (WaitsFor(kind="queue", what=f"{_count(job, facts)} before it, more urgent or older"),)


def _count(job: JobRow, facts: Obstacles) -> str:
    count = f"more than {AHEAD_MAX}" if facts.ahead > AHEAD_MAX else str(facts.ahead)
    return f"{count} {'job' if facts.ahead == 1 else 'jobs'} of {job.app}"
