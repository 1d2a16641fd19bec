"""Each job by itself: its history is a way through the table of states, and its row is where that way has led."""

from collections.abc import Iterator

from sluice.jobs.states import CLAIM, TERMINAL, VERBS, State
from tests.chaos.history import History
from tests.chaos.rows import Job, Transition

_VERBS = {verb.name: verb for verb in VERBS}
_MADE = "-"


def histories_are_ways_through_the_table(history: History) -> Iterator[str]:
    """Each begins where nothing was, and each step where the one before it ended, by a verb that leads from there to
    where it ended, carried out by somebody who may. A job without any step is none."""
    for job in history.rows.jobs:
        if job.is_pruned:
            continue
        before = _MADE
        steps = history.steps_of.get(job.id, [])
        if not steps:
            yield f"{job.name} is {job.state}, and nothing has ever happened to it"
        for step in steps:
            if step.source != before:
                yield f"{job.name} was {before}, and goes on from {step.source}: {_told(step)}"
            elif not _is_legal(step):
                yield f"{job.name} cannot go so: {_told(step)}"
            before = step.target


def rows_are_where_their_histories_lead(history: History) -> Iterator[str]:
    """State, round and claim as the last step left them."""
    for job in history.rows.jobs:
        for last in history.steps_of.get(job.id, [])[-1:]:
            is_, led = (job.state, job.round, job.claim), (last.target, last.round, last.claim)
            if is_ != led:
                yield f"{job.name} is {_standing(is_)}, and its history leads to {_standing(led)}"


def claims_count_up_one_by_one(history: History) -> Iterator[str]:
    """Each claim has the number after that of the one before it, and nothing else gives out numbers."""
    for job in history.rows.jobs:
        before = 0
        for step in [] if job.is_pruned else history.steps_of.get(job.id, []):
            due = before + (step.verb == CLAIM.name)
            if step.claim != due:
                yield f"{job.name} was under claim {before}, and is under {step.claim} behind {_told(step)}"
            before = step.claim


def every_job_has_ended(history: History) -> Iterator[str]:
    """But those that nobody asked for, and whoever waits for one of those: a pushed child may do so for ever."""
    live = {job.id: job for job in history.rows.jobs if not _has_ended(job)}
    excused = {id for id, job in live.items() if job.state is State.EXPECTED}
    waiting = [
        need
        for need in history.rows.needs
        if need.settled is None and need.child in live and live[need.child].state is State.WAITING
    ]
    while more := {need.child for need in waiting if need.parent in excused} - excused:
        excused |= more
    yield from (f"{job.name} is still {job.state}" for id, job in live.items() if id not in excused)


def nothing_is_under_way(history: History) -> Iterator[str]:
    """No job is held by a worker, in a line or to be looked after, no claim is open, and nobody is owed any news."""
    yield from (f"{job.name} is {job.state}, and still held" for job in history.rows.jobs if job.is_held)
    for each in history.rows.rounds:
        if each.ending is None or each.executed_at is None:
            yield f"claim {each.claim} of {history.name(each.job)} has not ended"
    yield from (f"the children of {history.name(owed.job)} are owed the news" for owed in history.rows.owed)


def the_ledger_agrees_with_itself(history: History) -> Iterator[str]:
    """By the check that the product makes of its own."""
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
