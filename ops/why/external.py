"""Texts about external work without a worker: it is running, or it has to be ended."""

from sluice.broker.messages import CONTROL
from sluice.ledger.reads.job_details import JobRow
from sluice.ledger.reads.obstacles import Obstacles
from sluice.ops.text import first_line, moment, span
from sluice.ops.why.answer import TIME, Reason, Remedy, WaitsFor, absent, remedy


def detached(job: JobRow, facts: Obstacles) -> Reason:
    """Explain a running job without a worker."""
    said = f"; last status: {first_line(job.external_status)}" if job.external_status else ""
    again = f", started {_times(job.round + 1)}" if job.round else ""
    because = f"is running as external work{again}, and is polled every {span(job.poll_interval_s)}{said}"
    stop = remedy("cancel", job.name, "stops it")
    return Reason(because, _look(job, facts, "the next poll"), [*_nobody_looks(job, facts), stop])


def still_to_end(job: JobRow, facts: Obstacles) -> Reason:
    """Return the addition for an ended job with external work that has to be ended."""
    said = f": {first_line(job.external_status)}" if job.external_status else ""
    because = f"; its external work has not been stopped yet{said}"
    return Reason(
        because, _look(job, facts, "the next attempt to stop its external work"), _nobody_looks(job, facts)
    )


def _look(job: JobRow, facts: Obstacles, what: str) -> list[WaitsFor]:
    if job.next_poll_at is None:
        return []
    left_s = (job.next_poll_at - facts.now).total_seconds()
    when = f"in {span(left_s)}" if left_s > 0 else "due now"
    return [WaitsFor(kind="poll", what=f"{what}, at {moment(job.next_poll_at)} UTC, {when}")]


def _nobody_looks(job: JobRow, facts: Obstacles) -> list[Remedy]:
    if facts.crew is None or facts.crew.workers:
        return [*absent(facts, *TIME)]
    # A worker that serves all queues also serves the system's own queues.
    queues = "" if len(facts.unserved) == len(CONTROL) else f" --queues {job.app}"
    looks = Remedy(f"sluice worker{queues}", "serves its queue: no worker does, so the work is not polled")
    return [*absent(facts, *TIME), looks]


def _times(count: int) -> str:
    return {2: "twice"}.get(count, f"{count} times")
