"""How a job ended, and what would give it another life."""

from collections.abc import Callable, Mapping, Sequence

from jobs.states import State
from ledger.reads.dossier import Job
from ledger.reads.obstacles import Cause, Obstacles, Unsettled
from ops.times import moment
from ops.why.answer import Reason, Remedy, WaitsFor, remedy
from ops.words import first_line


def reason(job: Job, facts: Obstacles) -> Reason:
    return _REASONS[job.state](job, facts)


def _succeeded(job: Job, _: Obstacles) -> Reason:
    return Reason(f"has succeeded in round {job.round}")


def _failed(job: Job, facts: Obstacles) -> Reason:
    lost = f", after {job.losses} lost workers" if job.losses else ""
    return Reason(f"has failed in round {job.round}{lost}{_after(facts)}", [], _look_and_retry(job))


def _fatal(job: Job, facts: Obstacles) -> Reason:
    because = (
        f"could not be undone in round {job.round}, and somebody has to put right what it left{_after(facts)}"
    )
    return Reason(because, [], [remedy("logs", job.name, "shows what it printed")])


def _timed_out(job: Job, facts: Obstacles) -> Reason:
    return Reason(f"ran over its timeout in round {job.round}{_after(facts)}", [], _look_and_retry(job))


def _expired(job: Job, _: Obstacles) -> Reason:
    until = f", {moment(job.end_before)} UTC" if job.end_before else ""
    again = remedy("submit --rerun job --end-before T", job.name, "runs it again, with another time")
    return Reason(f"had not finished by its end_before{until}", [], [again])


def _cancelled(job: Job, _: Obstacles) -> Reason:
    return Reason("was cancelled", [], [remedy("submit", job.name, "asks for it anew")])


def _skipped(_: Job, facts: Obstacles) -> Reason:
    if not facts.unsettled:
        return Reason("was skipped: it does not pass its app's valid_if_or")
    return Reason("was skipped, for its parents were", _dead(facts.unsettled))


def _stranded(job: Job, facts: Obstacles) -> Reason:
    """A retry runs its dead ancestors again too, so the causes are where to look, not what to type."""
    look = [remedy("why", cause.name, "says more") for cause in facts.causes[:1]]
    again = remedy("retry", job.name, "runs it again, with what it needs")
    because = "cannot run, for its parents will not come to what it needs"
    return Reason(because, list(map(_cause, facts.causes)) or _dead(facts.unsettled), [*look, again])


def _after(facts: Obstacles) -> str:
    error = first_line(facts.last_error)
    return f": {error}" if error else ""


def _look_and_retry(job: Job) -> Sequence[Remedy]:
    return [
        remedy("logs", job.name, "shows what it printed"),
        remedy("retry", job.name, "runs it again"),
    ]


def _dead(parents: Sequence[Unsettled]) -> list[WaitsFor]:
    return [
        WaitsFor(
            kind="cause",
            what=f"{parent.name}, which is {parent.state}",
            since=parent.since,
            app=parent.app,
            key=parent.key,
            state=parent.state,
        )
        for parent in parents
        if parent.dead
    ]


def _cause(cause: Cause) -> WaitsFor:
    error = first_line(cause.error)
    return WaitsFor(
        kind="cause",
        what=f"{cause.name}, which is {cause.state}{': ' if error else ''}{error}",
        since=cause.since,
        app=cause.app,
        key=cause.key,
        state=cause.state,
    )


_REASONS: Mapping[State, Callable[[Job, Obstacles], Reason]] = {
    State.SUCCEEDED: _succeeded,
    State.FAILED: _failed,
    State.FATAL: _fatal,
    State.TIMED_OUT: _timed_out,
    State.EXPIRED: _expired,
    State.SKIPPED: _skipped,
    State.CANCELLED: _cancelled,
    State.UPSTREAM_FAILED: _stranded,
}
