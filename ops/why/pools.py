"""Explanation of a job that may run but waits for a slot of its pool, or for its rate limit."""

from collections.abc import Sequence
from datetime import timedelta

from sluice.jobs.model.pool import spoken, spoken_rate
from sluice.jobs.states import State
from sluice.ledger.reads.job_details import JobRow
from sluice.ledger.reads.obstacles import Obstacles
from sluice.ledger.reads.pool_queue import COUNTED_MAX, Holder, RateWait, SlotWait
from sluice.ops.text import moment, span
from sluice.ops.why.answer import TIME, Reason, Remedy, WaitsFor, absent, remedy
from sluice.ops.why.pauses import app_held_back


def in_line(job: JobRow, line: SlotWait, facts: Obstacles) -> Reason:
    pool, limit = spoken(job.pool or ""), job.pool_limit or 1
    if facts.app_pause and spoken(job.pool or "") == job.pool:
        return app_held_back(facts.app_pause, "may run")
    before = f", and {_count(line)} before it" if line.ahead else ""
    if line.taken < limit and facts.rate_wait and facts.rate_wait.tokens <= 0:
        return _limited(job, facts.rate_wait, facts)
    if line.taken < limit:
        waits = [WaitsFor(kind="groomer", what="the groomer's next tick"), *_before(line, pool)]
        free = (
            f"{spoken_rate(job.rate_bucket)} lets it start" if job.rate_bucket else f"{pool} has a slot free"
        )
        return Reason(f"may run, and {free}{before}", waits, absent(facts, *TIME))
    full = f"no more than {limit} of its jobs run at once" if limit > 1 else "its jobs run one at a time"
    waits = [*map(_held, line.holders), *_before(line, pool)]
    return Reason(f"may run, but {pool} is full: {full}{before}", waits, [*_overtake(job, line)])


def _limited(job: JobRow, rate: RateWait, facts: Obstacles) -> Reason:
    limit = spoken_rate(job.rate_bucket or job.app)
    before = f", and {_many(rate.ahead)} before it" if rate.ahead else ""
    because = f"may run, but {limit} is reached: one of its jobs starts every {span(rate.apart_s)}{before}"
    if rate.next_at is None:
        what = "workers to claim the jobs that are ready, which have all starts reserved"
        return Reason(because, [WaitsFor(kind="rate", what=what)], [*_first(job, rate.ahead)])
    start = max(rate.next_at, facts.now) + timedelta(seconds=rate.apart_s * rate.ahead)
    left = span((start - facts.now).total_seconds())
    waits = [WaitsFor(kind="rate", what=f"{limit}, not before {moment(start)} UTC, in {left}")]
    return Reason(because, waits, [*absent(facts, *TIME), *_first(job, rate.ahead)])


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
    return _many(line.ahead)


def _many(ahead: int) -> str:
    many = f"more than {COUNTED_MAX}" if ahead > COUNTED_MAX else str(ahead)
    return f"{many} {'job is' if ahead == 1 else 'jobs are'}"


def _overtake(job: JobRow, line: SlotWait) -> Sequence[Remedy]:
    return _first(job, line.ahead)


def _first(job: JobRow, ahead: int) -> Sequence[Remedy]:
    if not ahead:
        return ()
    words = f"submit --priority {job.priority + 1}"
    return (remedy(words, job.name, "moves it ahead of jobs that have its present priority"),)
