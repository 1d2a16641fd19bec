"""Whole answer for one job."""

from itertools import chain

from sluice.broker.messages import PLANNER
from sluice.jobs.model.names import JobName
from sluice.jobs.states import STOPPABLE, TERMINAL
from sluice.ledger.reads.job_details import JobRow
from sluice.ledger.reads.obstacles import Obstacles
from sluice.ops.text import moment
from sluice.ops.why import external, live, submissions, terminal
from sluice.ops.why.answer import Explanation, Reason, Remedy, WaitsFor, absent, remedy
from sluice.ops.why.pauses import resumes


def explain(name: JobName, facts: Obstacles, *, refusal: str = "") -> Explanation:
    """Explain the state of a job. A job that is not in the ledger has an answer too.

    ``refusal`` is the reason why the definitions do not have the job, so that no worker with these definitions will run
    it.
    """
    job = facts.job
    if job is None:
        return _unknown(name, facts, refusal)
    because, waits_for, remedies = (terminal if job.state in TERMINAL else live).reason(job, facts)
    if job.is_to_be_ended:
        left = external.still_to_end(job, facts)
        because, waits_for = f"{because}{left.because}", [*waits_for, *left.waits_for]
        remedies = [*remedies, *left.remedies]
    if refusal:
        because, waits_for, remedies = _undefined(job, because, refusal)
    unplanned = [
        waits for each in facts.unplanned if each.asks_for_it for waits in submissions.unplanned(each)
    ]
    refused = [submissions.refusal(each) for each in facts.refused]
    return Explanation(
        app=job.app,
        key=job.key,
        state=job.state,
        because=f"{job.name} {because}{_lateness(job)}",
        since=job.changed_at,
        waits_for=(*waits_for, *unplanned, *refused),
        remedies=tuple({each.command: each for each in remedies}.values()),
    )


def _lateness(job: JobRow) -> str:
    if not job.late:
        return ""
    return (
        f"; it {'ended late, after' if job.state in TERMINAL else 'is late since'} {moment(job.late_at)} UTC"
    )


def _undefined(job: JobRow, because: str, refusal: str) -> Reason:
    """Explain a job that was planned before the definitions changed."""
    look = Remedy("sluice apps show", "lists the defined apps")
    stop = [remedy("cancel", job.name, "cancels it")] if job.state in STOPPABLE else []
    waits = (
        [WaitsFor(kind="definition", what="definitions that have it")] if job.state not in TERMINAL else []
    )
    return Reason(
        f"{because}; but the definitions given here do not have it: {refusal}", waits, [look, *stop]
    )


def _unknown(name: JobName, facts: Obstacles, refusal: str) -> Explanation:
    """Explain why the job is not in the ledger. The jobs of a submission are known only after planning. Until then, any
    submission of the app may request it.
    """
    surely = [each for each in facts.unplanned if each.asks_for_it]
    possible = () if refusal else surely or facts.unplanned
    if refusal:
        remedies = [Remedy(f"sluice apps show {name.app}", "shows its keys and dependencies")]
    elif possible:
        paused = [resumes(each.id) for each in possible if each.paused_at]
        awaited = [each.awaited for each in possible if each.awaited and not each.paused_at]
        says = [remedy("why", job, "shows when it ends") for job in awaited]
        remedies = [*paused, *absent(facts, PLANNER), *says]
    else:
        remedies = [remedy("submit", name, "requests it")]
    return Explanation(
        app=name.app,
        key=name.key,
        state=None,
        because=f"The ledger has no job {name}: {_why_missing(facts, refusal)}",
        waits_for=(
            *chain.from_iterable(map(submissions.unplanned, possible)),
            *map(submissions.refusal, facts.refused),
        ),
        remedies=tuple(remedies),
    )


def _why_missing(facts: Obstacles, refusal: str) -> str:
    if refusal:
        return f"it cannot exist, because {refusal}"
    for each in facts.unplanned:
        if each.asks_for_it:
            why = "is paused" if each.paused_at else each.reason
            reason = f": it {why}" if why else ""
            return f"the submission that requests it is not planned yet{reason}"
    if facts.unplanned:
        return "no submission has requested it, unless it is in a submission that is not planned yet"
    if facts.refused:
        return "the submission that requested it was refused"
    return "no submission has requested it"
