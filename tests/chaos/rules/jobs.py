"""Rules about single jobs: the history is a path in the table of states, and the row is where the path ends."""

from collections.abc import Iterator

from sluice.jobs.states import CLAIM, TERMINAL, VERBS, State
from tests.chaos.history import History
from tests.chaos.rows import Job, Transition

_VERBS = {verb.name: verb for verb in VERBS}
_MADE = "-"


def histories_follow_the_state_table(history: History) -> Iterator[str]:
    """Check the path of each job in the table of states.

    The first step begins at no state, and each further step in the state in which the one before it ended. The verb
    leads from that state to the next, and is carried out by a component that may do so. Each job has at least one step.
    """
    for job in history.rows.jobs:
        if job.is_pruned:
            continue
        before = _MADE
        steps = history.steps_of.get(job.id, [])
        if not steps:
            yield f"{job.name} is {job.state}, and has no transitions"
        for step in steps:
            if step.source != before:
                yield f"{job.name} was {before}, and continues from {step.source}: {_told(step)}"
            elif not _is_legal(step):
                yield f"{job.name} has an invalid transition: {_told(step)}"
            before = step.target


def rows_are_where_their_histories_lead(history: History) -> Iterator[str]:
    """Check that each row has the state, round and claim of its last step."""
    for job in history.rows.jobs:
        for last in history.steps_of.get(job.id, [])[-1:]:
            is_, led = (job.state, job.round, job.claim), (last.target, last.round, last.claim)
            if is_ != led:
                yield f"{job.name} is {_standing(is_)}, and its history leads to {_standing(led)}"


def claims_count_up_one_by_one(history: History) -> Iterator[str]:
    """Check that each claim has the next number, and that no other step changes the number."""
    for job in history.rows.jobs:
        before = 0
        for step in [] if job.is_pruned else history.steps_of.get(job.id, []):
            due = before + (step.verb == CLAIM.name)
            if step.claim != due:
                yield f"{job.name} was under claim {before}, and is under {step.claim} after {_told(step)}"
            before = step.claim


def every_job_has_ended(history: History) -> Iterator[str]:
    """Check that each job has ended.

    Jobs that were never requested are excepted, and so are jobs that wait for them: a pushed child may wait
    indefinitely.
    """
    live = {job.id: job for job in history.rows.jobs if not _has_ended(job)}
    excused = {id for id, job in live.items() if job.state is State.EXPECTED}
    waiting = [
        need
        for need in history.rows.needs
        if need.met is None and need.child in live and live[need.child].state is State.WAITING
    ]
    while more := {need.child for need in waiting if need.parent in excused} - excused:
        excused |= more
    yield from (f"{job.name} is still {job.state}" for id, job in live.items() if id not in excused)


def nothing_is_under_way(history: History) -> Iterator[str]:
    """Check that nothing is under way.

    No job is held by a worker, waits for a slot or has a next poll. No claim and no propagation is open.
    """
    yield from (f"{job.name} is {job.state}, and still held" for job in history.rows.jobs if job.is_held)
    for each in history.rows.rounds:
        if each.ending is None or each.executed_at is None:
            yield f"claim {each.claim} of {history.name(each.job)} has not ended"
    yield from (
        f"the outcome of {history.name(owed.job)} is still in the propagation outbox"
        for owed in history.rows.owed
    )


def the_ledger_agrees_with_itself(history: History) -> Iterator[str]:
    """Report the breaches that the product's own check finds."""
    yield from (f"{breach.rule}: {breach.things}, {breach.examples}" for breach in history.rows.breaches)


def _has_ended(job: Job) -> bool:
    return job.state in TERMINAL


def _is_legal(step: Transition) -> bool:
    verb = _VERBS.get(step.verb)
    source = None if step.source == _MADE else step.source
    return verb is not None and source in verb.sources and step.target == verb.target and step.by in verb.by


def _standing(state_round_claim: tuple[str, int, int]) -> str:
    state, round_, claim = state_round_claim
    return f"{state} in round {round_} under claim {claim}"


def _told(step: Transition) -> str:
    return f"{step.source} → {step.target}, {step.verb} by {step.by}, claim {step.claim}"
