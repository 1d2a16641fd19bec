"""Explanation of a job that has ended, with the remedies that run it again."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from sluice.jobs.model.names import JobName
from sluice.jobs.sagas.abort_reasons import AbortReason
from sluice.jobs.states import State
from sluice.jobs.text.units import counted
from sluice.ledger.reads.job_details import JobRow
from sluice.ledger.reads.obstacles import Obstacles
from sluice.ops.documents.job_document import removed
from sluice.ops.text import command, first_line, moment
from sluice.ops.why import parents, sagas
from sluice.ops.why.answer import Reason, Remedy, WaitsFor, remedy
from sluice.ops.why.submissions import canceller

#: Time that a rerun of an expired job gets in the suggested command.
ANOTHER = timedelta(hours=1)
#: Notes of the last transition of a saga that was cancelled after it had begun.
_CALLED_OFF = frozenset(AbortReason)


def reason(job: JobRow, facts: Obstacles) -> Reason:
    because, waits_for, remedies = _REASONS[job.state](job, facts)
    if job.is_pruned:
        remedies = [each for each in remedies if each.command != command("logs", job.name)]
    return Reason(f"{because}{_undoing(job)}{_pruned(job)}", waits_for, remedies)


def _succeeded(job: JobRow, _: Obstacles) -> Reason:
    return Reason(f"has succeeded in round {job.round}")


def _failed(job: JobRow, facts: Obstacles) -> Reason:
    lost = f", after {counted(job.losses, 'lost worker')}" if job.losses else ""
    return Reason(f"has failed in round {job.round}{lost}{_after(facts)}", [], _look_and_retry(job.name))


def _timed_out(job: JobRow, facts: Obstacles) -> Reason:
    return Reason(f"ran over its timeout in round {job.round}{_after(facts)}", [], _look_and_retry(job.name))


def _expired(job: JobRow, facts: Obstacles) -> Reason:
    until = f", {moment(job.end_before)} UTC" if job.end_before else ""
    later = (facts.now + ANOTHER).replace(second=0, microsecond=0)
    words = f"submit --rerun job --end-before {later:%Y-%m-%dT%H:%M:%SZ}"
    again = remedy(words, job.name, "runs it again, with time until then")
    return Reason(f"had not finished by its end_before{until}{_after(facts)}", [], [again])


def _cancelled(job: JobRow, facts: Obstacles) -> Reason:
    anew = remedy("submit", job.name, "requests it again")
    if job.compensated_by and job.compensated_by.state is State.SUCCEEDED:
        return Reason(f"was undone by {job.compensated_by.name}, because its saga failed", [], [anew])
    by = canceller(facts.wanted_by, job.changed_at)
    how = f"with submission {by.id}{f' of {by.user}' if by.user else ''}" if by else "by name"
    note = f": {facts.note}" if facts.note else ""
    if facts.note in _CALLED_OFF:
        note = ", and its finished steps are undone"
    return Reason(f"was cancelled {how}{note}", [], [anew])


def _skipped(_: JobRow, facts: Obstacles) -> Reason:
    because = parents.dead_end(facts.unmet, facts.causes)
    if not because:
        return Reason("was skipped: it does not pass its app's valid_if_or")
    look = [remedy("why", cause.name, "shows the cause") for cause in facts.causes[:1]]
    return Reason(f"was skipped, because {because}", parents.causes(facts.unmet, facts.causes), look)


def _upstream_failed(job: JobRow, facts: Obstacles) -> Reason:
    """Explain an upstream failure. A retry runs the failed upstream jobs again too. So for the causes the command is
    ``why``, and only the job itself has ``retry``.
    """
    look = [remedy("why", cause.name, "shows the cause") for cause in facts.causes[:1]]
    again = remedy("retry", job.name, "runs it again, with its failed upstream jobs")
    because = parents.dead_end(facts.unmet, facts.causes) or "its parents can no longer meet its dependencies"
    ways = f" by any of its {len(facts.alternatives)} alternatives" if len(facts.alternatives) > 1 else ""
    return Reason(
        f"cannot run{ways}, because {because}", parents.causes(facts.unmet, facts.causes), [*look, again]
    )


def _split(job: JobRow, facts: Obstacles) -> Reason:
    """Explain a split job. The remedies are about its pieces."""
    tally = ", ".join(f"{count} {state}" for state, count in facts.pieces.tally.items())
    undone = [
        WaitsFor(
            kind="cause" if each in facts.pieces.dead else "half",
            what=f"{each.name}, which is {each.state}{f': {first_line(each.error)}' if each.error else ''}",
            app=each.app,
            key=each.key,
            state=each.state,
        )
        for each in facts.pieces.undone
    ]
    if dead := facts.pieces.dead[:1]:
        look = [*_look_and_retry(dead[0].name)]
    else:
        look = [remedy("why", each.name, "shows why") for each in facts.pieces.undone[:1]]
    because = f"failed in round {job.round} and was split{_after(facts)}; its pieces: {tally}"
    return Reason(because, undone, look)


def _undoing(job: JobRow) -> str:
    """Return the pending compensation of the job. For a failed compensation, return the job that is not undone."""
    if job.compensated_by and job.state is State.SUCCEEDED:
        undo = job.compensated_by
        return f"; its saga failed, and {undo.name}, which undoes it, is {undo.state}"
    if job.compensates and job.compensates.state is State.SUCCEEDED and job.state is not State.SUCCEEDED:
        return f"; so {job.compensates.name} is not undone"
    return ""


def _pruned(job: JobRow) -> str:
    return f"; {removed(job)}" if job.is_pruned else ""


def _after(facts: Obstacles) -> str:
    error = first_line(facts.last_error)
    return f": {error}" if error else ""


def _look_and_retry(name: JobName) -> Sequence[Remedy]:
    return [
        remedy("logs", name, "shows its output"),
        remedy("retry", name, "runs it again"),
    ]


_REASONS: Mapping[State, Callable[[JobRow, Obstacles], Reason]] = {
    State.SUCCEEDED: _succeeded,
    State.FAILED: _failed,
    State.FATAL: sagas.failed_undo,
    State.TIMED_OUT: _timed_out,
    State.EXPIRED: _expired,
    State.SKIPPED: _skipped,
    State.CANCELLED: _cancelled,
    State.UPSTREAM_FAILED: _upstream_failed,
    State.SPLIT: _split,
}
