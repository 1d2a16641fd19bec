"""Explanation of a job that may run but waits for a slot of its pool."""

from collections.abc import Sequence

from sluice.jobs.model.pool import spoken
from sluice.jobs.states import State
from sluice.ledger.reads.job_details import JobRow
from sluice.ledger.reads.obstacles import Obstacles
from sluice.ledger.reads.pool_queue import COUNTED_MAX, Holder, SlotWait
from sluice.ops.why.answer import TIME, Reason, Remedy, WaitsFor, absent, remedy
from sluice.ops.why.pauses import app_held_back


def in_line(job: JobRow, line: SlotWait, facts: Obstacles) -> Reason:
    pool, limit = spoken(job.pool or ""), job.pool_limit or 1
    if facts.app_pause and spoken(job.pool or "") == job.pool:
        return app_held_back(facts.app_pause, "may run")
    before = f", and {_count(line)} before it" if line.ahead else ""
    if line.taken < limit:
        waits = [WaitsFor(kind="groomer", what="the groomer's next tick"), *_before(line, pool)]
        return Reason(f"may run, and {pool} has a slot free{before}", waits, absent(facts, *TIME))
    full = f"no more than {limit} of its jobs run at once" if limit > 1 else "its jobs run one at a time"
    waits = [*map(_held, line.holders), *_before(line, pool)]
    return Reason(f"may run, but {pool} is full: {full}{before}", waits, [*_overtake(job, line)])


def _held(holder: Holder) -> WaitsFor:
    if holder.host is not None:
        where = f"which {holder.host}:{holder.pid} runs"
    elif holder.state is State.READY:
        where = "which is ready, and which no worker has claimed yet"
    else:
        where = "which is external work"
    return WaitsFor(
        kind="pool",
        what=f"{holder.name}, {where}",
        since=holder.since,
        app=holder.app,
        key=holder.key,
        state=holder.state,
    )


def _before(line: SlotWait, pool: str) -> Sequence[WaitsFor]:
    """Return the number of jobs before it: more urgent jobs, and older jobs of the same urgency."""
    if not line.ahead:
        return ()
    return (
        WaitsFor(
            kind="queue", what=f"{_count(line)} before it in the queue for {pool}, more urgent or older"
        ),
    )


def _count(line: SlotWait) -> str:
    many = f"more than {COUNTED_MAX}" if line.ahead > COUNTED_MAX else str(line.ahead)
    return f"{many} {'job is' if line.ahead == 1 else 'jobs are'}"


def _overtake(job: JobRow, line: SlotWait) -> Sequence[Remedy]:
    if not line.ahead:
        return ()
    words = f"submit --priority {job.priority + 1}"
    return (remedy(words, job.name, "moves it ahead of jobs that have its present priority"),)
